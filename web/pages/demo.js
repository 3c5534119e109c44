// The demo page: calls `svctrack` as a host page does, and lists what the server stored.
'use strict';

const POLL_MS = 2000;
// How long after a call the list is read at once: the event needs a moment to arrive.
const AFTER_CALL_MS = 300;
const LISTED = 20;
const TOKEN_KEY = 'svctrack-demo-token';

const element = (id) => document.getElementById(id);
const text = (id) => element(id).value.trim();
const token = () => text('token');

// ---- What is said to the visitor

function say(id, message) {
  const place = element(id);
  place.hidden = !message;
  // Set only when it differs: a screen reader reads a text again that is set again.
  if (place.textContent === message) return;
  place.textContent = message;
  if (id === 'problem' && message) place.scrollIntoView({ block: 'nearest' });
}

// ---- The token: from the address, where nothing else sees it, or typed in

function takeToken() {
  const match = /[#&]token=([^&]+)/.exec(location.hash);
  if (match) {
    sessionStorage.setItem(TOKEN_KEY, decodeURIComponent(match[1]));
    history.replaceState(null, '', location.pathname + location.search);
  }
  element('token').value = sessionStorage.getItem(TOKEN_KEY) || '';
  element('token').addEventListener('input', () => {
    sessionStorage.setItem(TOKEN_KEY, token());
    refresh();
  });
}

// ---- Calls of the tracker

// The members that are not empty.
function given(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== '' && value !== undefined));
}

function show(id, name, first, extra) {
  element(id).textContent = `svctrack.${name}(${JSON.stringify(first)}, ${JSON.stringify(extra)})`;
}

function identify() {
  const userId = text('user-id') || null;
  const extra = given({ email: text('email'), name: text('name'), companyExternalId: text('company') });
  if (userId === null && !extra.email) {
    say('problem', 'A user needs an id or an e-mail.');
    return false;
  }
  svctrack.identify(userId, extra);
  show('identify-call', 'identify', userId, extra);
  return true;
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

function track() {
  const info = readInfo();
  if (info === null) {
    say('problem', 'The extra data must be a JSON object, such as {"report": "Monthly revenue"}.');
    element('info').focus();
    return;
  }
  if (!text('action')) {
    say('problem', 'Say what happened: the action is empty.');
    return;
  }
  const weight = text('weight') === '' ? undefined : Number(text('weight'));
  const extra = given({ info, weight, passive: element('passive').checked || undefined });
  // The cookie says who it is. On the first visit nobody has said it yet.
  if (!document.cookie.includes('_svctrack=') && !identify()) return;
  svctrack.track(text('action'), extra);
  show('track-call', 'track', text('action'), extra);
}

function onSubmit(form, call) {
  element(form).addEventListener('submit', (event) => {
    event.preventDefault();
    say('problem', '');
    call();
    setTimeout(refresh, AFTER_CALL_MS);
  });
}

// ---- What arrived

function api(path, init) {
  const headers = { Authorization: 'Bearer ' + token(), 'Content-Type': 'application/json' };
  return fetch(path, { ...init, headers, cache: 'no-store', credentials: 'omit' });
}

// Why an answer cannot be used, in words; empty when it can.
function problemOf(response) {
  if (response.ok) return '';
  if (response.status === 401 || response.status === 403) {
    return 'The server does not accept this API token. Use the one that it printed on its first start.';
  }
  return `The server cannot answer right now (status ${response.status}). Trying again.`;
}

const shown = new Set();

function part(tag, className, content) {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = content;
  return node;
}

function item(activity, companies) {
  const node = document.createElement('li');
  const date = new Date(activity.date);
  const time = part('time', '', date.toLocaleTimeString());
  time.dateTime = activity.date;
  time.title = date.toLocaleString();
  const who = activity.endUserName || activity.email || activity.externalId || 'Somebody';
  const company = companies.get(activity.companyId);
  const details = [who, company, activity.passive && 'passive'].filter(Boolean).join(' · ');
  node.append(time, part('span', 'action', activity.action), part('span', 'who', details));
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
    const response = await api('/companies/' + encodeURIComponent(id));
    const company = response.ok ? await response.json() : {};
    companies.set(id, company.name || id);
  }
}

async function list() {
  const response = await api('/activities?limit=' + LISTED);
  const problem = problemOf(response);
  if (problem) return problem;
  const activities = await response.json();
  await nameCompanies(activities);
  const newest = activities.at(0)?._id;
  const place = element('arrived');
  if (place.dataset.newest !== newest) {
    place.replaceChildren(...activities.map((activity) => item(activity, companies)));
    place.dataset.newest = newest;
  }
  await checkCompany();
  const isWaiting = !activities.length && element('parked').hidden;
  say('notice', isWaiting ? 'Nothing yet. Identify, then track: it shows up here.' : '');
  return '';
}

// ---- The company that the server may not know yet

let companyToCreate = '';

// What was the case when it was looked up last: it is not asked again while nothing changes.
let companyChecked = '';

async function checkCompany() {
  const company = text('company');
  const state = JSON.stringify([token(), company, element('arrived').dataset.newest]);
  if (!company || state === companyChecked) return;
  const response = await api('/companies/extid-' + encodeURIComponent(company));
  const isMissing = response.status === 404;
  companyToCreate = isMissing ? company : '';
  element('parked-company').textContent = `“${company}”`;
  element('parked').hidden = !isMissing;
  companyChecked = state;
}

async function createCompany() {
  const externalId = companyToCreate;
  const name = externalId.charAt(0).toUpperCase() + externalId.slice(1);
  const response = await api('/companies', { method: 'POST', body: JSON.stringify({ name, externalId }) });
  say('problem', problemOf(response));
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
    // Only a message of ours is taken away again: one about a form stays until the next try.
    if (problem || element('problem').textContent === connection) say('problem', problem);
    connection = problem;
    // Once it works, the token need not be on the screen.
    element('token-field').hidden = Boolean(token()) && !problem && document.activeElement !== element('token');
  } catch {
    connection = 'The server cannot be reached. Trying again.';
    say('problem', connection);
  } finally {
    isReading = false;
  }
}

async function read() {
  if (!token()) {
    element('parked').hidden = true;
    say('notice', 'To see what arrived, enter an API token. The server printed one on its first start.');
    return '';
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

takeToken();
onSubmit('identify-form', identify);
onSubmit('track-form', track);
element('create-company').addEventListener('click', () => createCompany().catch(refresh));
element('copy').addEventListener('click', copySnippet);
document.addEventListener('visibilitychange', refresh);
setInterval(() => document.hidden || refresh(), POLL_MS);
refresh();
