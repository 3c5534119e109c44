// Page views, if the page wants them (`pageViews`, D14). A page is its path, and with `hash` also its route in the
// fragment, `#/...` or `#!/...`. Queries and other fragments are neither compared nor sent, since they may hold
// what is private: on the same path, another fragment is an anchor of the page.

const PAGE_VIEW = 'Viewed page';

let viewed;
let areWatched;

function view() {
  const [route] = options.pageViews === 'hash' ? location.hash.match(/^(#!?\/[^?]*)?/) : [''];
  const path = location.pathname + route;
  // Routers call replaceState and then pushState for one step.
  // Another fragment on the same path is an anchor.
  if (!areWatched || path === viewed || (location.hash && path === viewed?.split(/[?#]/)[0])) return;
  const referrer = viewed ?? document.referrer.split(/[?#]/)[0];
  viewed = path;
  methods.track(PAGE_VIEW, { info: { path, referrer } }, Date.now());
}

function watchPages() {
  if (!options.pageViews || areWatched) return;
  areWatched = true;
  view();
  for (const name of ['pushState', 'replaceState']) {
    const original = history[name];
    history[name] = function (...given) {
      const result = original.apply(this, given);
      attempt(view);
      return result;
    };
  }
  on(window, 'popstate', view);
}
