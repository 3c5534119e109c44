// What pages do besides their links and forms: all of them work without it.
const find = document.getElementById("find");

// The dialog of the search is loaded when it is asked for; where it cannot be, there is the form.
async function search(isSlash) {
  try {
    const finder = await import("/search.js");
    if (!isSlash || finder.slashOpens()) finder.open();
  } catch {
    find.focus();
  }
}

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  const isSlash = event.key === "/" && !isTyping && !hasModifier;
  const isChord = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
  if (find && (isChord || isSlash)) {
    event.preventDefault();
    search(isSlash);
  }
});

// A second click does not send a form again.
const AGAIN_AFTER_MS = 3_000;
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.isSent) {
    event.preventDefault();
    return;
  }
  form.dataset.isSent = "true";
  setTimeout(() => delete form.dataset.isSent, AGAIN_AFTER_MS);
});

// What is wrong is where the reader begins.
document.querySelector("div.problems")?.focus();
