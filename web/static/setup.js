// Adds a button to each block that can be copied, and updates the panel when the first event arrives.
const EVERY_MS = 2000;
const MOST = 1800;

for (const block of document.querySelectorAll("[data-copy]")) {
  // Only a page over TLS, or of the machine itself, may copy.
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const isCopied = await navigator.clipboard.writeText(block.textContent).then(
      () => true,
      () => false,
    );
    // A reader whose browser does not allow it has the text selected.
    if (!isCopied) getSelection().selectAllChildren(block);
    button.textContent = isCopied ? "Copied" : "Selected";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.after(button);
}

const panel = document.getElementById("arrival");
let asked = 0;

// The link that checks again has the time since which the panel shows issues.
function ask() {
  if (document.visibilityState !== "visible") return;
  if (++asked > MOST) return stop();
  const request = new XMLHttpRequest();
  request.open("GET", again.querySelector("a").href);
  request.responseType = "document";
  request.onload = () => {
    const now = request.response?.getElementById("arrival");
    if (!now) return stop();
    if (now.textContent === panel.textContent) return;
    panel.className = now.className;
    panel.dataset.state = now.dataset.state;
    panel.replaceChildren(...document.adoptNode(now).childNodes);
  };
  request.send();
}

function stop() {
  clearInterval(timer);
  again.hidden = false;
}

const again = document.getElementById("again");
const timer = panel && setInterval(ask, EVERY_MS);
if (panel) again.hidden = true;
