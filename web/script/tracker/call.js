// A call of the page, read at once and without trust: a member can be missing, of any kind, or throw.
// What the page does with its objects later changes nothing.

const IDENTITY = ['externalId', 'email', 'name', 'companyExternalId', 'assetExtId', 'projectExtId'];

let lastDate = 0;

// A text, or a number as one: callers have numeric ids. Blank counts as not given (R32), and what is not given
// is nothing that counts.
function text(value) {
  const given = Number.isFinite(value) ? value + '' : value;
  return typeof given === 'string' && given.trim() && given;
}

// The identity members of an object, in one order.
function identityOf(object) {
  const members = IDENTITY.map((name) => [name, text(object?.[name])]);
  return Object.fromEntries(members.filter(([, value]) => value));
}

// A UUIDv7 (R39): ids sort as their times do.
function uuid(ms) {
  const random = () => (crypto.getRandomValues(new Uint8Array(1))[0] % 16).toString(16);
  return `0${ms.toString(16)}-7rrr-8rrr-rrrrrrrrrrrr`.replace(/.{8}/, '$&-').replace(/r/g, random);
}

// The call with its message as far as the page gave it. No two messages of a page have the same date: it
// is their order (R45).
function read(name, first, given, calledAt) {
  // An object alone is meant as EXTRA_INFO.
  const extra = Object(given ?? (typeof first !== 'string' && first));
  const message = identityOf(extra);
  const call = { name, first: text(first), message };
  const members = [...IDENTITY, 'info', 'passive', 'weight'];
  warnOfUnknown(title(call) + 'member', extra, members);
  if (name === 'identify') {
    if (call.first) message.externalId = call.first;
  } else {
    message.action = call.first;
    if (extra.info != null) {
      // What cannot be written as JSON is a text, which no check lets pass.
      call.info = attempt(() => JSON.stringify(extra.info)) || '""';
      message.info = JSON.parse(call.info);
    }
    if (extra.passive) message.passive = true;
    if (extra.weight != null) message.weight = Number.isFinite(extra.weight) ? extra.weight : 'NaN';
  }
  lastDate = Math.max(calledAt, lastDate + 1);
  message.date = new Date(lastDate).toISOString();
  message.messageId = uuid(lastDate);
  return call;
}
