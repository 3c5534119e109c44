// What pages do besides their links and forms: all of them work without it.
const find = document.getElementById("find");

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, select, textarea");
  const opens = (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping);
  if (find && opens) {
    event.preventDefault();
    find.focus();
    find.select();
  }
});

// What is wrong is where the reader begins.
document.querySelector("div.problems")?.focus();
