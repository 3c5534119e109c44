// What pages do besides their links and forms: all of them work without it.

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

// A page to which the reader goes back has sent nothing yet.
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.isSent;
});

// What is wrong is where the reader begins.
document.querySelector("div.problems")?.focus();
