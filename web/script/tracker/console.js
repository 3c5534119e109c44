// What is said to whoever builds the host page. A warning says what was not sent, with a stable code and
// what to do; with `debug` every step is explained.

// What the page gave to `init`, or with `load`.
const options = {};

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

function explain(text) {
  attempt(() => options.debug && console.info('svctrack: ' + text));
}

// A call, as it is named in a line.
function title(call) {
  return call.name + '(' + (call.first || '').slice(0, 100) + ') ';
}
