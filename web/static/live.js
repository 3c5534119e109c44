// Adds activities to the page as they are stored, from where the server's list ends.
const MOST = 200; // rows
const DATA = 160; // characters
const TELL_EVERY = 10_000; // ms

const live = document.getElementById("live");
const rows = document.getElementById("activities");
const status = document.getElementById("live-status");
const pause = document.getElementById("pause");

const clock = clockOf(live.dataset.zone);

let source;
let after;
let waiting = [];
let seen = 0;
let isPaused = false;
let isDue = false;
let told = 0;
let timer;

// Shows a time as the server does: in the zone of the tenant, or in UTC where the browser does not know that.
function clockOf(timeZone) {
  const format = { dateStyle: "short", timeStyle: "medium" };
  try {
    const zoned = new Intl.DateTimeFormat("sv-SE", { ...format, timeZone });
    return (date) => zoned.format(new Date(date)) + (timeZone === "UTC" ? " UTC" : "");
  } catch {
    return utc;
  }
}

function utc(date) {
  return date.slice(0, 19).replace("T", " ") + " UTC";
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function record(resource, id) {
  return `/app/records/${resource}/${encodeURIComponent(id)}`;
}

function company({ companyId, companyName }) {
  if (!companyId) return "";
  const href = record("companies", companyId);
  return element("a", { href, className: "plain-link" }, companyName || "Company");
}

function data(info) {
  const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const isObject = info && typeof info === "object" && !Array.isArray(info);
  const each = isObject ? Object.entries(info).map(([name, value]) => `${name}: ${plain(value)}`) : [];
  const text = isObject ? each.join(", ") : info == null ? "" : plain(info);
  const characters = [...text];
  return characters.length > DATA ? characters.slice(0, DATA).join("") + "…" : text;
}

function row(activity) {
  const { date, action } = activity;
  const who = activity.endUserName || activity.email || activity.externalId || activity.endUserId;
  const time = element("time", { dateTime: date, title: utc(date) }, clock(date));
  const user = element("th", { scope: "row" });
  user.append(element("a", { href: record("endusers", activity.endUserId) }, who));
  const href = "/app/live?" + new URLSearchParams({ action: action.replace(/[\\,]/g, "\\$&") });
  const what = element("td", {}, element("a", { href, className: "plain-link" }, action));
  if (activity.passive) what.append(" ", element("span", { className: "badge plain" }, "passive"));
  return element(
    "tr",
    { className: "arrived" },
    element("td", {}, time),
    user,
    what,
    element("td", {}, company(activity)),
    element("td", { className: "data" }, data(activity.info)),
    element("td", { className: "num" }, String(activity.count)),
  );
}

// Writes what has arrived, once a frame.
function show() {
  isDue = false;
  if (isPaused) return;
  rows.prepend(...waiting.reverse().map(row));
  waiting = [];
  while (rows.rows.length > MOST) rows.lastElementChild.remove();
  document.getElementById("live-empty")?.remove();
}

function tell() {
  timer = undefined;
  told = Date.now();
  const arrived = `${seen} arrived since this page was opened`;
  status.textContent = isPaused ? `Paused: ${arrived}.` : `${arrived}.`;
}

function tellSoon() {
  timer ??= setTimeout(tell, Math.max(0, told + TELL_EVERY - Date.now()));
}

function arrive({ data, lastEventId }) {
  after = lastEventId;
  seen += 1;
  waiting.push(JSON.parse(data));
  if (waiting.length > MOST) waiting.shift();
  tellSoon();
  if (!isDue) {
    isDue = true;
    requestAnimationFrame(show);
  }
}

function open() {
  if (source && source.readyState !== EventSource.CLOSED) return;
  const address = new URL(live.dataset.stream, location);
  if (after) address.searchParams.set("after", after);
  source = new EventSource(address);
  source.addEventListener("activity", arrive);
  source.addEventListener("open", () => {
    live.dataset.live = "ready";
    if (!seen) status.textContent = "Connected: new activities appear at the top.";
  });
  source.addEventListener("error", () => {
    const isOver = source.readyState === EventSource.CLOSED;
    live.dataset.live = "off";
    status.textContent = isOver ? "Disconnected: load the page again." : "Disconnected: connecting again.";
  });
}

// A hidden page holds no stream.
function follow() {
  if (document.hidden) source?.close();
  else open();
}

document.getElementById("newer").hidden = true;
pause.hidden = false;
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  if (!isPaused) show();
  tell();
});
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => event.persisted && follow());
document.addEventListener("visibilitychange", follow);
follow();
