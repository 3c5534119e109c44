// Whether the visitor agrees. Before they have said so (`pending`), nothing is sent, fetched or stored, and
// calls are kept in memory only; when they refuse (`denied`), calls are dropped, and so is all that was
// stored. Global Privacy Control counts as a refusal until consent is granted (R46).

// The engine is fetched when the page has nothing else to do, or after so many milliseconds.
const IDLE_MS = 2000;

function consent() {
  return isOptedOut() ? 'denied' : options.consent ?? 'granted';
}

// Whether the browser refuses, and nobody else agrees.
function isOptedOut() {
  return navigator.globalPrivacyControl && options.consent !== 'granted';
}

// Whether anything may be sent or stored.
function isAllowed() {
  return prefix && consent() === 'granted';
}

// Takes the visitor's answer. One that cannot be used is none yet, so that nothing is sent for it.
function setConsent(given) {
  options.consent = given;
  if (/^(granted|denied|pending)$/.test(given)) return;
  options.consent = 'pending';
  warn('`consent` must be granted, denied or pending; nothing is sent');
}

// Does what the visitor's answer asks for.
function heed() {
  if (!prefix) return;
  explain('consent:', consent());
  if (consent() === 'denied') {
    kept.length = waiting.length = 0;
    forget();
    queue.clear();
    stored().forEach(([key]) => removeStored(key));
  }
  (window.requestIdleCallback || setTimeout)(startEngine, { timeout: IDLE_MS });
  work();
}
