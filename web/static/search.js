// Search in a dialog: what the page of the search finds, while one types.
import { load } from "/load.js";

const DELAY = 80; // ms
const SLASH = "slash-opens-search";

let dialog;
let input;
let list;
let status;
let active = -1;
let timer;
let stop;

/** Whether a slash alone opens the search, which can be turned off. */
export const slashOpens = () => localStorage.getItem(SLASH) !== "no";

function element(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function build() {
  input = element("input", {
    type: "search",
    role: "combobox",
    "aria-label": "Search everything",
    "aria-expanded": "false",
    "aria-controls": "finder-list",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Name, domain, e-mail, id or subject",
  });
  list = element("div", { id: "finder-list", role: "listbox", "aria-label": "Results" });
  status = element("p", { class: "muted", role: "status" });
  const slash = element("input", { type: "checkbox", id: "finder-slash" });
  slash.checked = slashOpens();
  slash.addEventListener("change", () => localStorage.setItem(SLASH, slash.checked ? "yes" : "no"));
  const label = element("label", { for: "finder-slash" }, slash, " The key / opens this as well");
  dialog = element("dialog", { class: "finder", "aria-label": "Search" }, input, list, status, label);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, DELAY);
  });
  input.addEventListener("keydown", press);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => stop?.abort());
  document.body.append(dialog);
}

/** Opens the dialog. */
export function open() {
  if (!dialog) build();
  if (!dialog.open) dialog.showModal();
  input.focus();
  input.select();
}

const page = () => "/app/search?" + new URLSearchParams({ q: input.value.trim() });

async function search() {
  stop?.abort();
  stop = new AbortController();
  if (!input.value.trim()) return show([], "");
  const { signal } = stop;
  let found;
  try {
    found = await load(page(), signal);
  } catch {
    found = null;
  }
  if (signal.aborted) return;
  const results = found?.getElementById("results");
  if (!results) return show([], "The search is not available: load the page again.");
  const groups = [...results.querySelectorAll("section")].map(group);
  show(groups, groups.length ? "" : "Nothing found.");
  const count = results.querySelectorAll("li").length;
  const more = results.querySelector("a.all") ? "The first " : "";
  if (count) status.textContent = more + count + " found";
}

function group(section) {
  const label = section.querySelector("h2").textContent;
  const items = [...section.querySelectorAll("li, p")].map((item) => {
    const link = item.querySelector("a");
    const note = element("span", { class: "muted" }, item.querySelector("span")?.textContent ?? "");
    const option = { role: "option", href: link.getAttribute("href"), tabindex: "-1", "aria-selected": "false" };
    return element("a", option, link.textContent, " ", note);
  });
  const head = element("p", { class: "group", role: "presentation" }, label);
  return element("div", { role: "group", "aria-label": label }, head, ...items);
}

function show(groups, message) {
  list.replaceChildren(...groups);
  list.querySelectorAll("[role=option]").forEach((option, at) => {
    option.id = "finder-" + at;
  });
  status.textContent = message;
  input.setAttribute("aria-expanded", String(groups.length > 0));
  mark(groups.length ? 0 : -1);
}

function mark(at) {
  const options = [...list.querySelectorAll("[role=option]")];
  active = options.length ? (at + options.length) % options.length : -1;
  options.forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
  const chosen = options[active];
  if (chosen) {
    input.setAttribute("aria-activedescendant", chosen.id);
    chosen.scrollIntoView({ block: "nearest" });
  } else {
    input.removeAttribute("aria-activedescendant");
  }
}

function press(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && active >= 0) {
    event.preventDefault();
    mark(active + step);
  } else if (event.key === "Enter" && !event.isComposing && input.value.trim()) {
    event.preventDefault();
    const chosen = list.querySelector("[aria-selected=true]");
    location.assign(chosen?.getAttribute("href") ?? page());
  } else if (event.key === "Escape") {
    // Some browsers would only clear the field.
    event.preventDefault();
    dialog.close();
  }
}
