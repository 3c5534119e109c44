// Shows how far the upload of a table is, and that its rows are being checked or imported. Without it the form is sent as
// any other, and so it is when something goes wrong here.
const PERCENT = 100;

function countRows(table) {
  const lines = table.split("\n").filter((line) => line.trim());
  const isCsv = !table.trimStart().startsWith("{");
  return Math.max(lines.length - (isCsv ? 1 : 0), 0);
}

/** The rows of what is sent: of the file, else of the text. */
async function rowsOf(data) {
  const file = data.get("file");
  const table = file?.size ? await file.text() : data.get("table");
  const rows = countRows(table);
  return rows === 1 ? "1 row" : `${rows.toLocaleString("en")} rows`;
}

/** A bar with words, below the buttons of a form. */
function showProgress(form) {
  const bar = document.createElement("progress");
  bar.max = PERCENT;
  bar.setAttribute("aria-label", "Progress");
  const words = document.createElement("p");
  words.setAttribute("role", "status");
  const box = document.createElement("div");
  box.className = "progress";
  box.append(bar, words);
  form.querySelector("div.actions").after(box);
  return { bar, words, remove: () => box.remove() };
}

/** Shows the page of a response in place of this one. */
function show(request) {
  const main = request.response?.querySelector("main");
  if (!main) return location.assign(request.responseURL);
  document.title = request.response.title;
  history.replaceState(null, "", request.responseURL);
  document.querySelector("main").replaceWith(document.adoptNode(main));
  (document.querySelector("div.problems") ?? document.querySelector("main")).focus();
}

/** Sends the form as the browser would without script. */
function sendPlainly(form, step) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name: "step", value: step });
  form.append(field);
  form.submit();
}

async function send(form, button) {
  const data = new FormData(form, button);
  const rows = await rowsOf(data);
  const doing = button.value === "import" ? "Importing" : "Checking";
  const { bar, words, remove } = showProgress(form);
  const buttons = form.querySelectorAll("button");
  for (const other of buttons) other.disabled = true;
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.responseType = "document";
  request.upload.onprogress = ({ loaded, total }) => {
    bar.value = (loaded / total) * PERCENT;
    words.textContent = `Uploading ${rows}: ${Math.floor(bar.value)} %`;
  };
  request.upload.onload = () => {
    bar.removeAttribute("value");
    words.textContent = `${doing} ${rows}`;
  };
  request.onload = () => show(request);
  request.onerror = () => {
    for (const other of buttons) other.disabled = false;
    remove();
    sendPlainly(form, button.value);
  };
  request.send(data);
}

addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form.import") || !event.submitter) return;
  event.preventDefault();
  send(form, event.submitter);
});
