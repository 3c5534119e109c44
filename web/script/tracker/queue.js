// The messages that the server has not confirmed: in memory, and in the browser's storage as long as there
// is some. Each has an entry of its own there, `<prefix><messageId>`. The page that is seen also sends what it
// finds there, since the one that left it may be gone. A message that is sent twice counts once, by its id (R39, D16).

// Maximum number of messages that are stored, of all tabs together: the oldest are dropped first, and of these
// those of other pages.
const MAX_QUEUED = 100;
// Maximum number of characters of these: 256 KB, since browsers store two bytes of each.
const MAX_QUEUED_CHARACTERS = 131072;
// A message that is older than this is dropped: 12 hours.
const MAX_AGE_MS = 43200000;

// The messages of this page, by their ids.
const queue = new Map();
// What the keys of all entries begin with, from the start on.
let prefix;

// All stored messages, of all tabs, the oldest first: their ids and their texts.
function stored() {
  const messageOf = (key) => [key.slice(prefix.length), localStorage[key]];
  return attempt(() => Object.keys(localStorage).filter((key) => key.startsWith(prefix)).sort().map(messageOf)) || [];
}

// Drops what comes before the last ones that are few enough.
function limit(messages) {
  let characters = 0;
  messages.reverse().forEach(([id, text], at) => {
    characters += text.length;
    if (at >= MAX_QUEUED || characters > MAX_QUEUED_CHARACTERS) drop(id, 'not_sent', text, 'queue_full');
  });
}

function add(id, text) {
  queue.set(id, text);
  limit([...queue]);
  attempt(() => localStorage.setItem(prefix + id, text));
}

function remove(id) {
  queue.delete(id);
  attempt(() => localStorage.removeItem(prefix + id));
}

function drop(id, ...line) {
  warn(...line);
  remove(id);
}

// The next message to send, with its id: one of this page, else one that was found. To look through the storage
// takes longer the more the page keeps in it.
function next() {
  const isNext = ([id]) => !left.has(id);
  return [...queue].find(isNext) || (!document.hidden && stored().find(isNext)) || [];
}
