// The demo page: calls `svctrack` as a host page does, and lists what the server stored.
'use strict';

const POLL_MS = 2000;
// How long after a call the list is read at once: the event needs a moment to arrive.
const AFTER_CALL_MS = 300;
// How long an event may take before the page says that it is not there.
const LATE_MS = 5000;
const LISTED = 20;
// Characters of an action or of extra data that are shown.
const SHOWN_CHARACTERS = 160;
const TOKEN_KEY = 'svctrack-demo-token';

const element = (id) => document.getElementById(id);
const text = (id) => element(id).value.trim();
const token = () => text('token');

function shorten(content) {
  return content.length > SHOWN_CHARACTERS ? content.slice(0, SHOWN_CHARACTERS) + '…' : content;
}

// ---- Messages to the visitor

function say(id, message) {
  const place = element(id);
  place.hidden = !message;
  // Set only when it differs: a screen reader reads a text again that is set again.
  if (place.textContent !== message) place.textContent = message;
}

// The line next to the button of a form: the status of its call.
function sayStatus(form, message, isBad = false) {
  const place = element(form + '-status');
  place.classList.toggle('bad', isBad);
  if (place.textContent !== message) place.textContent = message;
}

// ---- The token: from the address, where nothing else sees it, or typed in

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The token lasts as long as the tab, where the browser lets a page keep anything.
function keepToken(value) {
  try {
    sessionStorage.setItem(TOKEN_KEY, value);
  } catch {}
}

function keptToken() {
  try {
    return sessionStorage.getItem(TOKEN_KEY) || '';
  } catch {
    return '';
  }
}

function takeToken() {
  const match = /[#&]token=([^&]+)/.exec(location.hash);
  const given = match ? decoded(match[1]) : keptToken();
  if (match) {
    keepToken(given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  element('token').value = given;
  element('token').addEventListener('input', () => {
    keepToken(token());
    refresh();
  });
  element('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    refresh();
  });
}

// ---- Calls of the tracker

// The last warning of the tracker since a form was submitted: it rejected the call.
let rejection = '';

function onWarning(line) {
  rejection = line.replace('svctrack: ', '');
  const isIdentify = rejection.startsWith('identify(');
  if (isIdentify) identified = awaited = undefined;
  else sent = undefined;
  sayStatus(isIdentify ? 'identify' : 'track', rejection, true);
}

// The members that are not empty.
function given(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== '' && value !== undefined));
}

function show(id, name, first, extra) {
  element(id).textContent = `svctrack.${name}(${JSON.stringify(first)}, ${JSON.stringify(extra)})`;
}

// The arguments of `identify` as the fields have them.
function readUser() {
  return [
    text('user-id') || null,
    given({ email: text('email'), name: text('name'), companyExternalId: text('company') }),
  ];
}

// What `identify` was last called with, as JSON.
let identified;
// The filter that finds its user, while that is awaited, and when it was called.
let awaited;

// Calls `identify` with the fields; false when that is rejected.
function identify() {
  const [userId, extra] = readUser();
  if (userId === null && !extra.email) {
    sayStatus('identify', 'A user needs an id or an e-mail.', true);
    return false;
  }
  sayStatus('identify', 'Sent. The next events are this user’s.');
  identified = JSON.stringify([userId, extra]);
  const [name, value] = userId ? ['externalId', userId] : ['email', extra.email];
  awaited = { filter: new URLSearchParams({ [name]: value.replace(/[\\,]/g, '\\$&') }), at: Date.now() };
  svctrack.identify(userId, extra);
  show('identify-call', 'identify', userId, extra);
  companyNamed = extra.companyExternalId || '';
  return !rejection;
}

// Reads the extra data; undefined when there is none, null when it cannot be used.
function readInfo() {
  if (!text('info')) return undefined;
  try {
    const info = JSON.parse(text('info'));
    return info && typeof info === 'object' && !Array.isArray(info) ? info : null;
  } catch {
    return null;
  }
}

// The action that is awaited in the list, and when it was sent.
let sent;

function track() {
  const info = readInfo();
  if (info === null) {
    sayStatus('track', 'The extra data must be a JSON object, such as {"report": "Monthly revenue"}.', true);
    element('info').focus();
    return;
  }
  if (!text('action')) {
    sayStatus('track', 'Enter an action: it is empty.', true);
    return;
  }
  // The tracker keeps the user of the last `identify`, whatever the fields have since.
  const isOther = JSON.stringify(readUser()) !== identified;
  if (isOther && !identify()) {
    sayStatus('track', 'Not sent: see why under “Who is it?”.', true);
    return;
  }
  const action = text('action');
  const weight = text('weight') === '' ? undefined : Number(text('weight'));
  const extra = given({ info, weight, passive: element('passive').checked || undefined });
  sent = { action, at: Date.now() };
  sayStatus('track', 'Sent.');
  svctrack.track(action, extra);
  show('track-call', 'track', action, extra);
}

function onSubmit(form, call) {
  element(form + '-form').addEventListener('submit', (event) => {
    event.preventDefault();
    rejection = '';
    created = '';
    awaited = undefined;
    sayStatus('identify', '');
    sayStatus('track', '');
    element(form + '-call').textContent = '';
    call();
    setTimeout(refresh, AFTER_CALL_MS);
  });
}

// ---- What arrived

function api(path, init) {
  const headers = { Authorization: 'Bearer ' + token(), 'Content-Type': 'application/json' };
  return fetch(path, { ...init, headers, cache: 'no-store', credentials: 'omit' });
}

// Why a response cannot be used; empty when it can.
function problemOf(response) {
  if (response.ok) return '';
  if (response.status === 401) {
    return 'The server does not accept this API token. Use the one that it printed on its first start.';
  }
  if (response.status === 403) return 'This API token may not do that: it lacks a scope.';
  return `The server cannot respond right now (status ${response.status}). Retrying.`;
}

const shown = new Set();

function part(tag, className, content) {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = shorten(content);
  if (content.length > SHOWN_CHARACTERS) node.title = content;
  return node;
}

// The time, under its day when that is not today.
function timeOf(activity) {
  const date = new Date(activity.date);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? '' : date.toLocaleDateString() + '\n';
  const node = part('time', '', day + date.toLocaleTimeString());
  node.dateTime = activity.date;
  node.title = date.toLocaleString();
  return node;
}

function whoOf(activity) {
  return activity.endUserName || activity.email || activity.externalId || 'Somebody';
}

function item(activity) {
  const node = document.createElement('li');
  const weight = activity.weight ?? 1;
  const details = [
    whoOf(activity),
    companies.get(activity.companyId),
    weight !== 1 && 'weight ' + weight,
    activity.passive && 'passive',
  ];
  node.append(
    timeOf(activity),
    part('span', 'action', activity.action),
    part('span', 'who', details.filter(Boolean).join(' · ')),
  );
  if (activity.info) node.append(part('code', 'data', JSON.stringify(activity.info)));
  if (!shown.has(activity._id)) node.classList.add('new');
  shown.add(activity._id);
  return node;
}

// Names of companies by their ids. One that cannot be read is shown by its id.
const companies = new Map();

async function nameCompanies(activities) {
  const unknown = new Set(activities.map((activity) => activity.companyId));
  for (const id of unknown) {
    if (!id || companies.has(id)) continue;
    const response = await api('companies/' + encodeURIComponent(id));
    const company = response.ok ? await response.json() : {};
    companies.set(id, company.name || id);
  }
}

async function list() {
  const response = await api('activities?limit=' + LISTED);
  const problem = problemOf(response);
  if (problem) return problem;
  const activities = await response.json();
  await nameCompanies(activities);
  const fresh = activities.filter((activity) => !shown.has(activity._id));
  const newest = activities.at(0)?._id;
  const place = element('arrived');
  if (place.dataset.newest !== newest) {
    place.replaceChildren(...activities.map(item));
    place.dataset.newest = newest;
  }
  await checkCompany();
  await followIdentified();
  followSent(fresh);
  const isWaiting = !activities.length && element('parked').hidden;
  say('notice', created || (isWaiting ? 'Nothing yet. Identify, then track: it shows up here.' : ''));
  return '';
}

// Shows the status of the last event next to the button.
function followSent(fresh) {
  if (!sent) return;
  const isIt = (activity) => activity.action === sent.action && Date.parse(activity.date) >= sent.at - 1000;
  const arrived = fresh.find(isIt);
  if (arrived) {
    sayStatus('track', `Sent, and arrived: an event of ${whoOf(arrived)}.`);
    sent = undefined;
  } else if (missingCompany && missingCompany === companyNamed) {
    sayStatus('track', `Sent, and parked: the server knows no company “${missingCompany}”.`);
  } else if (Date.now() - sent.at > LATE_MS) {
    sayStatus('track', 'Sent, but it has not arrived. The console of the browser may say why.', true);
  }
}

// Shows the status of the last `identify`, which is no activity, next to its button.
async function followIdentified() {
  const { filter, at } = awaited || {};
  if (!filter) return;
  const response = await api('endusers?limit=1&' + filter);
  const [user] = response.ok ? await response.json() : [];
  if (Date.parse(user?.lastActive) >= at - 1000) {
    const name = user.name || user.email || user.externalId;
    sayStatus('identify', `Sent, and arrived: ${name} of ${user.companyName}. The next events are this user’s.`);
    awaited = undefined;
  } else if (missingCompany && missingCompany === companyNamed) {
    sayStatus('identify', `Sent, and parked: the server knows no company “${missingCompany}”.`);
  } else if (response.ok && Date.now() - at > LATE_MS) {
    sayStatus('identify', 'Sent, but it has not arrived. The console of the browser may say why.', true);
  }
}

// ---- The company that the server may not know yet

// The company of the last call, or the one that was typed to the end.
let companyNamed = '';
// The same, when the server does not know it.
let missingCompany = '';
// What was the case when it was looked up last: it is not asked again while nothing changes.
let companyChecked = '';
// The message once the company was created.
let created = '';

async function checkCompany() {
  const company = companyNamed;
  const state = JSON.stringify([token(), company, element('arrived').dataset.newest]);
  if (state === companyChecked) return;
  const response = company && (await api('companies/extid-' + encodeURIComponent(company)));
  missingCompany = response && response.status === 404 ? company : '';
  element('parked-company').textContent = `“${shorten(company)}”`;
  element('parked').hidden = !missingCompany;
  companyChecked = state;
}

async function createCompany() {
  const externalId = missingCompany;
  const name = externalId.charAt(0).toUpperCase() + externalId.slice(1);
  const response = await api('companies', { method: 'POST', body: JSON.stringify({ name, externalId }) });
  connection = problemOf(response);
  say('problem', connection);
  if (response.ok) {
    created = `The company “${externalId}” is there. Track again: the event shows up here.`;
    sent = undefined;
    sayStatus('track', '');
  }
  companyChecked = '';
  setTimeout(refresh, AFTER_CALL_MS);
}

// ---- Reading again and again

let isReading = false;
let connection = '';

async function refresh() {
  if (isReading) return;
  isReading = true;
  try {
    const problem = await read();
    if (problem || element('problem').textContent === connection) say('problem', problem);
    connection = problem;
    // Once it works, the token need not be on the screen.
    element('token-form').hidden = Boolean(token()) && !problem && document.activeElement !== element('token');
  } catch {
    connection = 'The server cannot be reached. Retrying.';
    say('problem', connection);
  } finally {
    isReading = false;
  }
}

async function read() {
  if (!token()) {
    element('parked').hidden = true;
    if (sent) sayStatus('track', 'Sent. To see it arrive, enter an API token.');
    sent = undefined;
    say('notice', 'To see what arrived, enter an API token. The server printed one on its first start.');
    return '';
  }
  // A header can carry nothing else, so the server is not asked.
  if (/[^\x21-\x7e]/.test(token())) {
    return 'That is not an API token. Use the one that the server printed on its first start.';
  }
  return list();
}

async function copySnippet() {
  try {
    await navigator.clipboard.writeText(element('snippet').textContent);
    element('copy').textContent = 'Copied';
  } catch {
    // Without the right to the clipboard, it is selected at least.
    getSelection().selectAllChildren(element('snippet'));
    element('copy').textContent = 'Selected';
  }
}

function start() {
  svctrack.init({ onWarning });
  onSubmit('identify', identify);
  onSubmit('track', track);
  companyNamed = text('company');
  element('company').addEventListener('change', () => {
    companyNamed = text('company');
    refresh();
  });
  element('create-company').addEventListener('click', () => createCompany().catch(refresh));
  element('copy').addEventListener('click', copySnippet);
  document.addEventListener('visibilitychange', refresh);
  setInterval(() => document.hidden || refresh(), POLL_MS);
  refresh();
}

takeToken();
// Without a tenant there is no snippet, and nothing to try.
if (window.svctrack) start();
