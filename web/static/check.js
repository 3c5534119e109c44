// Checks a form while it is filled in, by the rules of the server and in its words. Where the rules cannot be loaded or
// break, the server alone says what is wrong, once the form is sent.
const WAIT_MS = 500;

const form = document.querySelector("form[data-check]");
// Fields that are checked although they are empty: the user has visited them.
const visited = new Set();
let rules;
let waiting;

async function load() {
  try {
    const glue = await import("/forms.js");
    const { instance } = await WebAssembly.instantiateStreaming(fetch("/forms.wasm"), { glue });
    glue.start(instance.exports);
    rules = glue;
    // The browser's own words would come before those of the rules.
    form.noValidate = true;
    show();
  } catch {
    giveUp();
  }
}

function giveUp() {
  rules = undefined;
  form.noValidate = false;
}

/** What is wrong: names of properties, the name of the whole being empty, each with a message. */
function problems() {
  if (!rules) return [];
  try {
    const said = rules.check(form.dataset.check, form.elements.shown?.value, [...new FormData(form)].flat());
    const found = said.flatMap((text, at) => (at % 2 ? [] : [[text, inWords(text, said[at + 1])]]));
    return found.filter(([name]) => !isName(fieldOf(name)));
  } catch {
    giveUp();
    return [];
  }
}

/** Whether a field has the name of a record, which the server alone can look up. */
const isName = (field) => Boolean(field?.dataset.suggest && field.value);

/** A message that begins with the name of a property begins with its label instead. */
function inWords(name, message) {
  const plain = name.replace(/^_+/, "");
  const label = fieldOf(name)?.labels?.[0]?.textContent.replace(/ \*$/, "");
  return label && message.startsWith(`${plain} `) ? label + message.slice(plain.length) : message;
}

const fieldOf = (name) => form.querySelector(`[id="f-${name}"]`);

function say(field, message) {
  const [line, help] = [`p-${field.name}`, `h-${field.name}`];
  let shown = document.getElementById(line);
  if (!message) {
    // The line keeps its place: what is below it must not move from under a click.
    shown?.classList.add("resolved");
    field.removeAttribute("aria-invalid");
    field.setAttribute("aria-describedby", help);
    return;
  }
  if (!shown) {
    shown = document.createElement("p");
    shown.className = "bad";
    shown.id = line;
    field.parentElement.append(shown);
  }
  shown.classList.remove("resolved");
  if (shown.textContent !== message) shown.textContent = message;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${help} ${line}`);
}

/** Says at each field what is wrong with it; what the server said of one that nobody changed stays. */
function show() {
  clearTimeout(waiting);
  const found = problems();
  for (const field of form.querySelectorAll("[id^='f-']")) {
    const problem = found.find(([name]) => name === field.name);
    if (visited.has(field) || (problem && field.value)) say(field, problem?.[1]);
  }
  return found;
}

/** The list of all problems, above the form, as the server writes it. */
function list(found) {
  const heading = document.createElement("strong");
  heading.textContent = "Please correct the following.";
  const first = document.createElement("p");
  first.append(heading);
  const items = document.createElement("ul");
  for (const [name, message] of found) {
    const item = document.createElement("li");
    const link = fieldOf(name) ? document.createElement("a") : item;
    if (link !== item) {
      link.href = `#f-${name}`;
      item.append(link);
    }
    link.textContent = message;
    items.append(item);
  }
  const box = document.createElement("div");
  box.className = "problems";
  box.setAttribute("role", "alert");
  box.tabIndex = -1;
  box.append(first, items);
  document.querySelector("div.problems")?.remove();
  form.before(box);
  box.focus();
}

if (form) {
  form.addEventListener("focusin", load, { once: true });
  form.addEventListener("input", (event) => {
    visited.add(event.target);
    clearTimeout(waiting);
    waiting = setTimeout(show, WAIT_MS);
  });
  form.addEventListener("change", (event) => {
    visited.add(event.target);
    show();
  });
  form.addEventListener("submit", (event) => {
    if (!rules) return;
    for (const field of form.querySelectorAll("[id^='f-']")) visited.add(field);
    const found = show();
    if (found.length === 0) return;
    event.preventDefault();
    list(found);
  });
}
