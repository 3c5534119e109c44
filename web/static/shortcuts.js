// Keyboard shortcuts: a slash, and Ctrl or Cmd with K, open the search.
const find = document.getElementById("find");

// The dialog of the search is loaded when it is requested; where it cannot be, there is the form.
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
