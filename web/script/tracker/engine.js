// The two engines. Both complete a message with the identity that is known and send a request, and keep
// nothing, so that one can take over from the other at any time. The one in WebAssembly also makes all
// checks of the server; the one here is used where WebAssembly is not allowed or not loaded yet.

// Milliseconds for which each task waits for the page: one that need not wait would run before all that the page
// has to do by then.
const TURN_MS = 1;
// Milliseconds that the other engine may take before this one is used.
const ENGINE_MS = 5000;

// Whether `given`, which identifies a person, means the known one. Ids decide, then e-mails.
function isSamePerson(before, given) {
  if (before.externalId && given.externalId) return before.externalId === given.externalId;
  if (!before.email) return false;
  const fold = (email) => email.trim().toLowerCase();
  return given.email ? fold(before.email) === fold(given.email) : !before.externalId;
}

const plain = {
  complete(message, before, isIdentify) {
    if (!isIdentify || isSamePerson(before, message)) Object.assign(message, { ...before, ...identityOf(message) });
  },
  send(request, pending) {
    fetch(request).then(pending.resolve, pending.resolve);
  },
};

let engine;
// Whether the engine in WebAssembly was requested: once a page.
let isAsked;

function use(chosen, why) {
  engine = chosen;
  explain(`engine: ${engine === plain ? 'JavaScript' : 'WebAssembly'}:`, why);
  // The browser may have to read its storage from disk: that is a task of its own.
  setTimeout(work, TURN_MS);
}

// Something of the engine in WebAssembly, or of `plain` if that breaks.
function ask(method, ...given) {
  try {
    return engine[method](...given);
  } catch (error) {
    if (engine === plain) throw error;
    use(plain, error);
    return plain[method](...given);
  }
}

async function startEngine() {
  if (isAsked || !isAllowed()) return;
  isAsked = true;
  const late = setTimeout(() => engine || use(plain, 'timeout'), ENGINE_MS);
  try {
    const url = (file) => new URL(file, script.src);
    const wasm = fetch(url('svctrack_bg.wasm'), { credentials: 'omit' });
    wasm.catch(() => {});
    const glue = await import(url('svctrack_glue.js'));
    words = glue.words;
    const { instance } = await WebAssembly.instantiateStreaming(wasm, { glue });
    glue.start(instance.exports);
    use(glue, 'loaded');
  } catch (error) {
    use(plain, error);
  }
  clearTimeout(late);
}
