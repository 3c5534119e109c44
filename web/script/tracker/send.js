// Sending what is in the queue, one message after the other; and all at once when the page is left.

// Backoff, in milliseconds: doubling from the first pause to the last.
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 60000;
// Tries before the queue pauses until there is a call, the page is seen again, the browser is back online, or there is
// another page.
const MAX_TRIES = 10;
// Longest `Retry-After` that is followed, in seconds.
const MAX_RETRY_AFTER = 300;
// A response that takes longer counts as none.
const RESPONSE_MS = 30000;
// The longest message that may outlive its page, in characters of at most three bytes: with the time of
// sending it has 16 KiB. All of a page share 64 KiB.
const MAX_KEEPALIVE_CHARACTERS = 5400;

let tries = 0;
let pauseMs;
// Below zero where it never fires: a call or `wake` continues.
let timer;
// The message that is under way, and those that were sent when the page was left.
let sending;
const left = new Set();

// Server and page may disagree about the time, so each request says when it was sent (R45).
function bodyOf(text) {
  return text.slice(0, -1) + ',"sentAt":"' + new Date().toISOString() + '"}';
}

// A body that is a string goes as `text/plain;charset=UTF-8`, which needs no preflight.
function requestOf(text, keepalive) {
  return new Request(endpoint, {
    method: 'POST',
    body: bodyOf(text),
    keepalive: keepalive && isShort(text),
    credentials: 'omit',
  });
}

// Whether a message may outlive the page.
function isShort(text) {
  return text.length <= MAX_KEEPALIVE_CHARACTERS;
}

// The response; undefined when there is none. A page may have a `fetch` of its own, so anything may come.
async function post(text, keepalive) {
  const response = await new Promise((resolve) => {
    setTimeout(resolve, RESPONSE_MS);
    ask('send', requestOf(text, keepalive), { resolve });
  }).catch(() => {});
  return response instanceof Response ? response : undefined;
}

// Sends the next message, unless one is under way or it is too early.
async function pump() {
  if (!engine || sending || timer || !isAllowed()) return;
  const [id, text] = next();
  if (!id) return;
  sending = id;
  // An id begins with its time.
  if (Date.now() - parseInt(id.replace('-', ''), 16) > MAX_AGE_MS) drop(id, 'not_sent', text, 'too_old');
  else await deliverTo(await post(text, !tries), id, text);
  sending = null;
  pump();
}

async function deliverTo(response, id, text) {
  const status = response?.status;
  if (response?.ok) {
    tries = 0;
    explain('stored', text, response.headers.get('Svctrack-Parked'));
    remove(id);
  } else if (!status || status >= 500 || [408, 425, 429].includes(status)) {
    pause(status, +response?.headers.get('Retry-After') || 0);
  } else {
    const problem = await response.json().catch(() => {});
    drop(id, 'rejected', text, status, problem?.detail);
  }
}

// Waits before the next try: longer each time, and never as long as other pages do.
function pause(status, retryAfter) {
  pauseMs =
    Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries++) * (1 - Math.random() / 2) + Math.min(retryAfter, MAX_RETRY_AFTER) * 1000;
  const isLast = tries >= MAX_TRIES;
  const line = ['retry', status, endpoint, Math.max(queue.size, stored().length)];
  if (isLast) once(isLast, warn, ...line);
  else explain(...line);
  timer = isLast ? -1 : setTimeout(resume, pauseMs);
}

function resume() {
  timer = 0;
  pump();
}

// Tries at once: the page is seen again, or the browser is back online.
function wake() {
  if (!isAllowed()) return;
  clearTimeout(timer);
  tries = 0;
  left.clear();
  resume();
}

// The page is left or hidden, and may never run again: all that is in the queue is handed to the browser,
// at once. It stays in the queue, since the page will not see whether it arrived.
function leave() {
  if (!isAllowed()) return;
  if (!engine) use(plain, 'the page is left');
  workUntil();
  for (const [id, text] of queue) {
    const outlives = id === sending && !tries && isShort(text);
    if (outlives || left.has(id)) continue;
    left.add(id);
    explain('left', text);
    if (!attempt(() => navigator.sendBeacon(endpoint, bodyOf(text)))) {
      // What may outlive a page is used up.
      attempt(() => fetch(requestOf(text, true)).catch(() => fetch(requestOf(text))).catch(() => {}));
    }
  }
}
