// The docs with a script: results while one types, and a button that copies code. All else works without.
"use strict";

const form = document.querySelector(".search");
const field = form.querySelector("input");
const list = document.getElementById("found");
const MOST = 12;

// The page of a search, for its results. The next search aborts the request before.
const request = new XMLHttpRequest();
request.responseType = "document";
request.addEventListener("load", () => {
  const found = [...(request.response?.querySelectorAll(".results li, article p") ?? [])].slice(0, MOST);
  // As an attribute the address counts from the page of the search.
  for (const link of found.flatMap((entry) => [...entry.querySelectorAll("a")])) link.href = link.href;
  list.replaceChildren(...found.map(asItem));
  list.hidden = !field.value.trim();
});

function asItem(entry) {
  const own = document.adoptNode(entry);
  if (own.localName === "li") return own;
  const item = document.createElement("li");
  item.append(own);
  return item;
}

function search() {
  const query = field.value.trim();
  if (!query) {
    request.abort();
    list.hidden = true;
    return;
  }
  request.open("GET", form.action + "?" + new URLSearchParams({ q: query }));
  request.send();
}

// A request for each pause in typing, not for each letter.
const PAUSE_MS = 150;
let pause;
field.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(search, PAUSE_MS);
});
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
