// The docs with a script: results while one types, and a button that copies code. All else works without.
"use strict";

const form = document.querySelector(".search");
const field = form.querySelector("input");
const list = document.getElementById("found");
const MOST = 12;
let index;

function load() {
  index ??= fetch(form.dataset.index).then((response) => response.json()).catch(() => []);
  return index;
}

// How well a section fits: every word must begin a word of it. As in src/docs.rs.
function score([title, , , heading, words], asked) {
  let sum = 0;
  for (const word of asked) {
    const isIn = (text) => (" " + text.toLowerCase().replace(/[^\p{L}\p{N}_]+/gu, " ")).includes(" " + word);
    const points = (isIn(title) ? 5 : 0) + (isIn(heading) ? 3 : 0) + (isIn(words) ? 1 : 0);
    if (!points) return 0;
    sum += points;
  }
  return sum;
}

async function search() {
  const asked = field.value.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const entries = await load();
  const found = asked.length
    ? entries
        .map((entry) => [score(entry, asked), entry])
        .filter(([points]) => points)
        .sort(([one], [other]) => other - one)
        .slice(0, MOST)
    : [];
  list.replaceChildren(...found.map(([, entry]) => item(entry)));
  if (asked.length && !found.length) {
    const none = document.createElement("li");
    none.append(Object.assign(document.createElement("p"), { textContent: "Nothing found" }));
    list.append(none);
  }
  list.hidden = !asked.length;
}

function item([title, page, id, heading]) {
  const link = document.createElement("a");
  link.href = form.dataset.root + "docs" + (page && "/" + page) + "#" + id;
  const small = Object.assign(document.createElement("small"), { textContent: title });
  link.append(heading, small);
  const entry = document.createElement("li");
  entry.append(link);
  return entry;
}

field.addEventListener("focus", load, { once: true });
field.addEventListener("input", search);
form.addEventListener("focusout", (event) => {
  if (!form.contains(event.relatedTarget)) list.hidden = true;
});
form.addEventListener("focusin", () => {
  if (field.value && list.children.length) list.hidden = false;
});
list.addEventListener("click", () => {
  list.hidden = true;
});
form.addEventListener("keydown", (event) => {
  const links = [field, ...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && !list.hidden) {
    event.preventDefault();
    links[(at + step + links.length) % links.length].focus();
  } else if (event.key === "Escape") {
    list.hidden = true;
    field.focus();
  }
});
document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  }
});

// Of a transcript the commands are copied, and not what they print.
for (const block of document.querySelectorAll(".code")) {
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "copy",
    textContent: "Copy",
  });
  button.addEventListener("click", async () => {
    const commands = [...block.querySelectorAll("b")].map((part) => part.textContent);
    const text = commands.length ? commands.join("") : block.querySelector("code").textContent;
    await navigator.clipboard.writeText(text.trimEnd());
    button.textContent = "Copied";
    button.classList.add("done");
    setTimeout(() => {
      button.textContent = "Copy";
      button.classList.remove("done");
    }, 1500);
  });
  block.append(button);
}
