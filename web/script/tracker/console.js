// Console messages for the developer of the host page: what happened and what to do. A warning is a call that
// is not sent, or not as it was meant; with `debug` every step is logged.

// Maximum number of warnings that are logged once: a page may make names up.
const MAX_REPORTED = 100;

// What the page gave to `init` or `load`. Lines with a colon are the types that the npm package has.
const options = {
  // The visitor's consent; `granted` by default. Any other value counts as `pending`.
  //: consent?: Consent
  consent: undefined,
  // Track each page once, as `Viewed page` with its path; with `hash`, routes such as `#/reports` are pages too.
  //: pageViews?: boolean | 'hash'
  pageViews: false,
  // Log every step of each call in the console.
  //: debug?: boolean
  debug: false,
  // Called with each warning of the console.
  //: onWarning?: (line: string) => void
  onWarning() {},
};

// The result of a function of `given`; undefined when it throws, as what belongs to the page or the browser
// may. A call that fails is reported.
function attempt(action, given) {
  try {
    return action(given);
  } catch (error) {
    if (given?.name) attempt(() => warn(given.name + '() failed:', error));
  }
}

// The sentences of `words.js`, once they are there.
let words;
// What was reported once.
const reported = new Set();

function lineOf(what, given) {
  return 'svctrack: ' + (attempt(() => words[what](...given)) || [what, ...given].join(' '));
}

// Logs a warning, and hands it to the page if that gave `onWarning`.
function warn(what, ...given) {
  const line = lineOf(what, given);
  attempt(() => console.warn(line));
  attempt(() => options.onWarning(line));
}

function log(what, ...given) {
  attempt(() => console.info(lineOf(what, given)));
}

function explain(...given) {
  if (options.debug) log(...given);
}

// Reports why a call is not sent.
function reject(call, why) {
  warn('not_sent', JSON.stringify(call.message), why);
}

// Reports something once, where there is a key.
function once(key, report, ...line) {
  if (!key || reported.has(key) || reported.size >= MAX_REPORTED) return;
  reported.add(key);
  report(...line, key);
}

// Reports the unknown members of a call. Those of a `track` are moved into `info`, which is no fault.
function reportUnknown({ name, unknown, members }) {
  once(unknown?.join(), name === 'track' ? log : warn, 'unknown', name, unknown, members);
}
