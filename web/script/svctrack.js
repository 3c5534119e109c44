// The loader: fetches the tracker (WASM), hands it the calls that the snippet kept, and then each call
// as it is made. Nothing here throws into the host page, and nothing is global but `svctrack`.
(function (script) {
  'use strict';

  // So many calls wait for the tracker at the most: a page must not fill up while it cannot be loaded.
  const MAX_KEPT_CALLS = 1000;

  const svctrack = window.svctrack && window.svctrack.load ? window.svctrack : (window.svctrack = {});
  if (svctrack.isLoaded) return;
  svctrack.isLoaded = true;

  const kept = [];
  let endpoint;
  let options;
  let isStarted = false;
  let hasFailed = false;
  let tracker;

  function warn(text, error) {
    console.warn(...['svctrack: ' + text, error].filter(Boolean));
  }

  function fail(text, error) {
    hasFailed = true;
    kept.length = 0;
    warn(text, error);
  }

  // An event: `identify` or `track`, with the time at which it was called.
  function deliver(to, name, given, calledAt) {
    try {
      to[name](given[0], given[1], calledAt);
    } catch (error) {
      warn(name, error);
    }
  }

  function event(name, given, calledAt) {
    if (tracker) deliver(tracker, name, given, calledAt);
    else if (!hasFailed && kept.length < MAX_KEPT_CALLS) kept.push([name, given, calledAt]);
  }

  async function start() {
    const url = (file) => new URL(file, script.src).href;
    const wasm = fetch(url('svctrack_bg.wasm'), { credentials: 'omit' });
    const [glue, module_or_path] = await Promise.all([import(url('svctrack_glue.js')), wasm]);
    if (!glue.default) {
      fail('this server was built without the bundle (SVCTRACK_BUNDLE=skip), so nothing is sent');
      return;
    }
    await glue.default({ module_or_path });
    const started = new glue.Tracker(endpoint);
    // A call that is made meanwhile is kept too, so that none overtakes another.
    while (kept.length) deliver(started, ...kept.shift());
    tracker = started;
  }

  const methods = {
    // Sets the address to which events go, once, and starts.
    load(address, given) {
      if (endpoint || !address) return;
      endpoint = String(address);
      methods.init(given);
    },
    // Starts the tracker, once, as soon as its address is known. There are no options yet.
    init(given) {
      options = options || given;
      if (!endpoint || isStarted) return;
      isStarted = true;
      start().catch((error) => fail('the tracker could not be started, so nothing is sent', error));
    },
    identify(userId, extra, calledAt) {
      event('identify', [userId, extra], calledAt);
    },
    track(action, extra, calledAt) {
      event('track', [action, extra], calledAt);
    },
  };

  // A call as the snippet keeps it: its name, its arguments, its time.
  function run([name, given, calledAt]) {
    try {
      methods[name](given[0], given[1], calledAt);
    } catch (error) {
      warn(name, error);
    }
  }

  const calls = svctrack.q || [];
  // A page may hold on to a method of the snippet, so what that keeps from now on runs at once.
  svctrack.q = { push: run };
  for (const name of Object.keys(methods)) {
    svctrack[name] = (...given) => run([name, given, Date.now()]);
  }
  calls.forEach(run);
})(document.currentScript);
