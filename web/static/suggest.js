// Suggests records while a user types a name. Without it a field suggests the newest records, and takes any name.
const DELAY = 120; // ms

let timer;
let stop;

/** Shows the records in which a text is found. */
async function suggest(field) {
  stop?.abort();
  stop = new AbortController();
  const text = field.value.trim();
  if (!text) return;
  const address = `/app/suggestions/${field.dataset.suggest}?` + new URLSearchParams({ q: text });
  let found;
  try {
    const response = await fetch(address, { signal: stop.signal });
    found = response.ok ? await response.json() : [];
  } catch {
    return;
  }
  const options = found.map((value) => Object.assign(document.createElement("option"), { value }));
  field.list?.replaceChildren(...options);
}

addEventListener("input", ({ target }) => {
  if (!target.matches?.("input[data-suggest]")) return;
  clearTimeout(timer);
  timer = setTimeout(() => suggest(target), DELAY);
});
