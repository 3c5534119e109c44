// The cookie that keeps who the visitor is. It is untrusted input.

const COOKIE = '_svctrack';
const PROBE = '_svctrack_probe';
// Browsers take about 4 KB with name and attributes, and the rest belongs to the host page.
const MAX_COOKIE_BYTES = 3072;
// 365 days.
const COOKIE_SECONDS = 31536000;

let widest;
// The identity where the browser keeps no cookies: until the page is left.
let uncookied;

function cookies() {
  return attempt(() => document.cookie) || '';
}

function setCookie(name, value, seconds, domain) {
  const scope = domain ? '; Domain=' + domain : '';
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  attempt(() => {
    document.cookie = `${name}=${value}; Path=/; SameSite=Lax; Max-Age=${seconds}${scope}${secure}`;
  });
}

// The widest domain for which the browser takes a cookie, so that subdomains share it; none where only
// the host itself can have one, such as `localhost`. The browser takes none for a public suffix, such as `co.uk`.
function widestDomain() {
  const labels = location.hostname.split('.');
  for (let at = labels.length - 2; at >= 0; at--) {
    const domain = labels.slice(at).join('.');
    setCookie(PROBE, 1, 60, domain);
    const isTaken = cookies().includes(PROBE);
    setCookie(PROBE, '', 0, domain);
    if (isTaken) return domain;
  }
  return '';
}

// Who is known. What no event could have is left out, so that a changed cookie spoils no event.
function known() {
  if (uncookied) return uncookied;
  const [, value] = cookies().match(/(?:^|; )_svctrack=([^;]*)/) || [];
  const identity = Object.entries(identityOf(attempt(() => JSON.parse(decodeURIComponent(value)))));
  const isUsable = ([name, text]) => /^[^\0-\x1f\x7f-\x9f]{1,512}$/.test(text) && (name !== 'email' || /.@./.test(text));
  return Object.fromEntries(identity.filter(isUsable));
}

function keep(identity) {
  widest ??= widestDomain();
  uncookied = null;
  const json = JSON.stringify(identity);
  const value = attempt(() => encodeURIComponent(json)) || '';
  if (value.length <= MAX_COOKIE_BYTES) setCookie(COOKIE, value, COOKIE_SECONDS, widest);
  if (JSON.stringify(known()) !== json) uncookied = identity;
}

function forget() {
  widest ??= widestDomain();
  uncookied = null;
  for (const domain of [widest, '']) setCookie(COOKIE, '', 0, domain);
}
