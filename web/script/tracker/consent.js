// The visitor's consent. While it is `pending`, nothing is sent, fetched or stored, and calls stay in memory;
// once it is `denied`, calls are dropped, and so is all that was stored. Global Privacy Control counts as
// `denied` until consent is granted (R46).

// The engine is fetched when the page has nothing else to do, or after these milliseconds.
const IDLE_MS = 2000;

function consent() {
  return isOptedOut() ? 'denied' : options.consent ?? 'granted';
}

// Whether the browser sends Global Privacy Control, and the visitor has not granted consent.
function isOptedOut() {
  return navigator.globalPrivacyControl && options.consent !== 'granted';
}

// Whether anything may be sent or stored.
function isAllowed() {
  return prefix && consent() === 'granted';
}

// Sets the visitor's consent. A value that cannot be used counts as `pending`, so that nothing is sent for it.
function setConsent(given) {
  options.consent = given;
  if (/^(granted|denied|pending)$/.test(given)) return;
  options.consent = 'pending';
  warn('`consent` must be granted, denied or pending; nothing is sent');
}

// Applies the visitor's consent.
function heed() {
  if (!prefix) return;
  explain('consent:', consent());
  if (consent() === 'denied') {
    kept.length = waiting.length = 0;
    forget();
    queue.clear();
    stored().forEach(([id]) => remove(id));
  }
  (window.requestIdleCallback || setTimeout)(startEngine, { timeout: IDLE_MS });
  work();
}
