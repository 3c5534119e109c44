// The loader: fetches the tracker (WASM), hands it the calls that the snippet kept, and then each call
// as it is made. Nothing here throws into the host page, and nothing is global but `svctrack`.
(function (script) {
  'use strict';

  // So many calls wait for the tracker at the most: a page must not fill up while it cannot be loaded.
  const MAX_KEPT_CALLS = 1000;
  // So many `track` calls wait for an `identify` at the most.
  const MAX_WAITING_CALLS = 100;
  // What an EXTRA_INFO can have.
  const MEMBERS = [
    'externalId', 'email', 'name', 'companyExternalId', 'assetExtId', 'projectExtId', 'info', 'passive', 'weight',
  ];

  const svctrack = window.svctrack && window.svctrack.load ? window.svctrack : (window.svctrack = {});
  if (svctrack.isLoaded) return;
  svctrack.isLoaded = true;

  const kept = [];
  const waiting = [];
  let endpoint;
  let options;
  let isStarted = false;
  let hasFailed = false;
  let tracker;

  // Says a line in the console, and to the page if it gave `onWarning` with its options.
  function warn(text, error) {
    console.warn(...['svctrack: ' + text, error].filter(Boolean));
    try {
      options?.onWarning?.('svctrack: ' + text);
    } catch {
      // A mistake of the page, which must not stop the tracker.
    }
  }

  function fail(text, error) {
    hasFailed = true;
    warn(text, error);
    kept.splice(0).forEach((call) => say(call, 'not sent: tracker_missing'));
  }

  // Says what became of a call. When the server refused it, its answer says why.
  async function say([name, given], text, answer) {
    const first = /string|number/.test(typeof given[0]) ? JSON.stringify(given[0]).slice(0, 100) : '';
    if (answer) {
      const problem = await answer.json().catch(() => 0);
      text += `: ${answer.status} ${problem?.code || ''}`;
    }
    warn(`${name}(${first}) ${text}`);
  }

  // A call is kept as it is now, whatever the page does with its objects later.
  function copy(given) {
    try {
      return JSON.parse(JSON.stringify(given));
    } catch {
      return given;
    }
  }

  // A `track` of nobody waits for the next `identify` on this page.
  function wait([name, given, calledAt]) {
    const call = [name, copy(given), calledAt];
    waiting.push(call);
    // Said once: a page that never identifies never sends anything.
    if (waiting.length === 1) say(call, 'waits: identity_missing: call identify to say who it is');
    if (waiting.length > MAX_WAITING_CALLS) {
      say(waiting.shift(), 'not sent: identity_missing: too many calls wait for identify');
    }
  }

  // An event: `identify` or `track`, with the time at which it was called.
  function deliver(to, call) {
    const [name, given, calledAt] = call;
    try {
      const unknown = Object.keys(Object(given[1])).filter((member) => !MEMBERS.includes(member));
      if (unknown[0]) say(call, `leaves out: member_unknown (${unknown}): extra data goes into info`);
      const isDone = to[name](given[0], given[1], calledAt, (...said) => say(call, ...said));
      if (name === 'track' && !isDone) wait(call);
      if (name === 'identify' && isDone) waiting.splice(0).forEach((waited) => deliver(to, waited));
    } catch (error) {
      warn(name + '() failed', error);
    }
  }

  function event(name, given, calledAt) {
    const call = [name, given, calledAt];
    if (tracker) deliver(tracker, call);
    else if (!hasFailed && kept.length < MAX_KEPT_CALLS) kept.push(call);
    else say(call, hasFailed ? 'not sent: tracker_missing' : 'not sent: tracker_late: too many calls wait for it');
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
    while (kept.length) deliver(started, kept.shift());
    tracker = started;
  }

  const methods = {
    // Sets the address to which events go, once, and starts.
    load(address, given) {
      if (!address) warn('load() did nothing: address_missing: give the address to which events go');
      if (endpoint || !address) return;
      endpoint = String(address);
      methods.init(given);
    },
    // Starts the tracker, once, as soon as its address is known. The one option is `onWarning`, a
    // function that hears every line that goes to the console.
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
      warn(name + '() failed', error);
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
