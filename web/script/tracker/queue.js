// The messages that the server has not confirmed: in memory, and in the browser's storage as long as there
// is some. Each has an entry of its own there, `<prefix> <messageId> <page>`, which only its page writes. A
// page holds a lock of its name while it has entries; when the lock is free, the page is gone, and another
// one takes its entries over. A message that is sent twice counts once, by its id (R39).

// So many messages are kept at the most, of all tabs together: the oldest go first.
const MAX_QUEUED = 100;
// So many characters: 256 KB, since browsers keep two bytes of each.
const MAX_QUEUED_CHARACTERS = 131072;
// A message that is older than this is given up: 12 hours.
const MAX_AGE_MS = 43200000;
// Of the name of a page.
const PAGE_CHARACTERS = 12;

const page = uuid(Date.now()).slice(-PAGE_CHARACTERS);
const queue = new Map();
// Pages whose end is waited for.
const awaited = new Set();
// What the keys of all entries begin with, from the start on.
let prefix;
let letGo;

const keyOf = (id) => prefix + id + ' ' + page;

// All entries, of all tabs, the oldest first: their keys and their texts.
function stored() {
  const entryOf = (key) => [key, localStorage[key]];
  return attempt(() => Object.keys(localStorage).filter((key) => key.startsWith(prefix)).sort().map(entryOf)) || [];
}

function removeStored(key) {
  attempt(() => localStorage.removeItem(key));
}

// Drops the oldest until what is left is little enough.
function limit(entries, drop) {
  let characters = entries.reduce((sum, [, text]) => sum + text.length, 0);
  while (entries.length > MAX_QUEUED || characters > MAX_QUEUED_CHARACTERS) {
    const [key, text] = entries.shift();
    characters -= text.length;
    drop(key);
  }
}

function add(id, text) {
  queue.set(id, text);
  limit([...queue], (oldest) => {
    queue.delete(oldest);
    warn(`message ${oldest} was given up: queue_full`);
  });
  attempt(() => localStorage.setItem(keyOf(id), text));
  holdLock();
}

function remove(id) {
  queue.delete(id);
  removeStored(keyOf(id));
  if (!queue.size) releaseLock();
}

// A page that holds a lock cannot be kept for the way back, so it is held only while it says something.
function holdLock() {
  if (letGo) return;
  const until = new Promise((resolve) => (letGo = resolve));
  withLock(page, () => until);
}

function releaseLock() {
  letGo?.();
  letGo = null;
}

// Does something as soon as a page has let go of its lock. Where there are no locks, as on pages without
// https, everybody counts as gone.
function withLock(owner, action) {
  const { locks } = navigator;
  if (locks) attempt(() => locks.request(prefix + owner, action).catch(() => {}));
  else action();
}

// Takes over what other pages leave, once they are gone.
function adopt() {
  for (const [key] of stored()) {
    const owner = key.slice(-PAGE_CHARACTERS);
    if (owner === page || awaited.has(owner)) continue;
    awaited.add(owner);
    withLock(owner, () => {
      awaited.delete(owner);
      takeOver(owner);
    });
  }
}

// One entry in a task, until there is none.
function takeOver(owner) {
  const [key, text] = stored().find(([key]) => key.endsWith(owner)) || [];
  if (!key) return;
  add(key.slice(prefix.length, -PAGE_CHARACTERS - 1), text);
  removeStored(key);
  pump();
  setTimeout(takeOver, 0, owner);
}
