// The global object `svctrack`: calls of the page on their way to the queue. Nothing here throws into the
// host page.

// Maximum number of calls that wait for the engine, for consent or for an `identify`.
const MAX_KEPT_CALLS = 1000;
// Milliseconds after which the console says why nothing is sent.
const HINT_MS = 5000;
// Milliseconds of work after which the page has its turn.
const SLICE_MS = 4;

const kept = [];
const waiting = [];
let endpoint;
// The task in which the work continues.
let task;

function on(target, type, action) {
  target.addEventListener(type, (event) => attempt(action, event));
}

// Queues a call until it can be processed.
function take(call) {
  if (prefix && consent() === 'denied') return explain(call.name + '() not sent: consent is denied');
  if (kept.length + waiting.length >= MAX_KEPT_CALLS) return warn(call.name + '() not sent: too many calls');
  kept.push(call);
  work();
}

// Works in a task of its own, so that a call takes the page no longer than it takes to read it; at once when
// the page is hidden, since it may never run again.
function work() {
  if (document.hidden) workUntil();
  else task ||= setTimeout(() => {
    task = 0;
    workUntil(performance.now() + SLICE_MS);
  }, TURN_MS);
}

// Works until a time, or until all is done.
function workUntil(end) {
  while (engine && isAllowed() && kept.length) {
    if (performance.now() > end) return work();
    attempt(deliver, kept.shift());
  }
  if (end) setTimeout(goOn, TURN_MS);
  else goOn();
}

// Once what was called is in the queue. To look through the storage takes longer the more the page keeps in
// it, so that is done once for many calls.
function goOn() {
  if (queue.size) limit([...stored().filter(([id]) => !queue.has(id)), ...queue]);
  // A queue that pauses is tried once more for a call, after the last pause again.
  if (timer < 0) timer = setTimeout(resume, pauseMs);
  pump();
}

function deliver(call) {
  const { name, message } = call;
  const isIdentify = name === 'identify';
  reportUnknown(call);
  if (name === 'reset') {
    waiting.length = 0;
    forget();
  }
  if (!message) return;
  if (isIdentify && namesNobody(message)) return reject(call, 'identity_missing');
  // On the wire it would be taken for an `identify`.
  if (!isIdentify && !message.action) return reject(call, 'action_missing');
  const faults = ask('complete', message, known(), isIdentify, JSON.stringify(message.info), message.weight);
  if (faults) return reject(call, faults);
  if (namesNobody(message)) return wait(call);
  if (isIdentify) keep(identityOf(message));
  const json = JSON.stringify(message);
  add(message.messageId, json);
  explain('queued', json);
  if (isIdentify) kept.unshift(...waiting.splice(0));
  once(engine.placeholder?.(message), warn, 'placeholder', json);
}

// A `track` without a user waits for the next `identify` on this page.
function wait(call) {
  waiting.push(call);
  explain('waits', JSON.stringify(call.message));
}

// Logs why nothing is sent, once the page has had time for its calls.
function hint() {
  if (isOptedOut()) log('tracking is off: the browser sends Global Privacy Control; svctrack.consent("granted") allows it');
  else if (waiting[0]) log('events_wait');
}

// Begins once, and not for a page that is only prerendered.
function begin() {
  if (!endpoint) return;
  if (document.prerendering) return on(document, 'prerenderingchange', begin);
  if (!prefix) {
    prefix = `_svctrack ${endpoint} `;
    on(document, 'visibilitychange', () => (document.hidden ? leave() : wake()));
    on(window, 'pagehide', leave);
    on(window, 'pageshow', comeBack);
    on(window, 'online', wake);
    setTimeout(hint, HINT_MS);
  }
  heed();
  watchPages();
}

// A page that comes back from the browser's cache continues, and is viewed again.
function comeBack(event) {
  if (!event.persisted) return;
  wake();
  viewed = null;
  view();
}

// Lines with a colon are the types that the npm package has.
const methods = {
  // Sets the address that receives events, `https://<server>/analytics/<tenant>`, once, and starts.
  //: load(endpoint: string, options?: Options): void
  load(address, given) {
    // A path is one of the page's own site. What the browser cannot ask is no address.
    const usable = /^(https?:\/)?\/./.test(address) && attempt(() => new Request(address).url);
    endpoint ||= usable;
    methods.init(given);
    if (!usable) throw 'expected a URL or path; found ' + address;
  },
  // Sets the options that are given.
  //: init(options?: Options): void
  init(given, _, calledAt) {
    const { consent: visitorConsent, ...others } = Object(given);
    const members = Object.keys(options);
    Object.assign(options, others);
    options.debug ||= /[?&]svctrack_debug/.test(location.search);
    // Reported in its turn, when the words for it are there. Only `load` calls it without a time.
    kept.push({ name: calledAt ? 'init' : 'load', unknown: unknownIn(others, members), members });
    if (visitorConsent !== undefined) setConsent(visitorConsent);
    begin();
  },
  // Identifies the user: by an id of yours, or by null and an e-mail. Stored in the cookie `_svctrack`.
  //: identify(userId: Id | null, extra?: Identity): void
  identify(userId, extra, calledAt) {
    take(read('identify', userId, extra, calledAt));
  },
  // Tracks an event of the user.
  //: track(action: string, extra?: EventInfo): void
  track(action, extra, calledAt) {
    take(read('track', action, extra, calledAt));
  },
  // Forgets the identified user, at log-out. It runs after the calls before it.
  //: reset(): void
  reset() {
    take({ name: 'reset' });
    isNamed = 0;
  },
  // Sets the visitor's consent.
  //: consent(given: Consent): void
  consent(given) {
    setConsent(given);
    heed();
  },
};

// A call as the snippet keeps it: its name, its arguments, its time.
function run([name, given, calledAt]) {
  attempt(() => methods[name](given[0], given[1], calledAt), { name });
}

const svctrack = window.svctrack?.load ? window.svctrack : (window.svctrack = {});
if (!svctrack.isLoaded) {
  svctrack.isLoaded = true;
  const calls = svctrack.q || [];
  // A page may hold on to a method of the snippet, so what that keeps from now on runs at once.
  svctrack.q = { push: run };
  for (const name of Object.keys(methods)) {
    svctrack[name] = (...given) => run([name, given, Date.now()]);
  }
  calls.forEach(run);
}
