// What is said to whoever builds the host page. A warning says what was not sent, with a stable code and
// what to do; with `debug` every step is explained.

// What the page gave to `init`, or with `load`. Lines with a colon are the types that the npm package has.
const options = {
  // Whether the visitor agrees; `granted` unless it is given. Any other answer counts as `pending`.
  //: consent?: Consent
  consent: undefined,
  // Track each page once, as `Viewed page` with its path; with `hash`, routes such as `#/reports` are pages too.
  //: pageViews?: boolean | 'hash'
  pageViews: false,
  // Explain every call in the console.
  //: debug?: boolean
  debug: false,
  // Called with each warning of the console.
  //: onWarning?: (line: string) => void
  onWarning() {},
};

// The result of a function of `given`; undefined when it throws, as what belongs to the page or the browser
// may. That a call failed is said.
function attempt(action, given) {
  try {
    return action(given);
  } catch (error) {
    if (given?.name) attempt(() => warn(given.name + '() failed: ' + error));
  }
}

// Says a line in the console, and to the page if it gave `onWarning`.
function warn(text) {
  attempt(() => console.warn('svctrack: ' + text));
  attempt(() => options.onWarning('svctrack: ' + text));
}

// Says which members of an object nobody knows: mistakes in writing.
function warnOfUnknown(what, object, known) {
  const unknown = Object.keys(object).filter((name) => !known.includes(name));
  if (unknown[0]) warn(`${what}_unknown: ${unknown}`);
}

function explain(text) {
  attempt(() => options.debug && console.info('svctrack: ' + text));
}

// Says why a call is not sent.
function refuse(call, why) {
  warn(title(call) + 'not sent: ' + why);
}

// A call, as it is named in a line.
function title(call) {
  return call.name + '(' + (call.first || '').slice(0, 100) + ') ';
}
