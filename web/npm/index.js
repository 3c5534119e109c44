// The browser script of svctrack as a module. It does nothing where there is no browser.

// Bundlers know these forms and take the two files along.
const files = {
  src: import.meta.url,
  glue: () => import('./svctrack_glue.js'),
  wasm: new URL('./svctrack_bg.wasm', import.meta.url).href,
};

if (globalThis.document) {
{{script}}
}

function call(name) {
  return (...given) => globalThis.document && window.svctrack[name](...given);
}

export const load = call('load');
export const init = call('init');
export const identify = call('identify');
export const track = call('track');
export const reset = call('reset');
export const consent = call('consent');
