// A call of the page, read at once and without trust: a member can be missing, of any kind, or throw.
// What the page does with its objects later changes nothing.

const IDENTITY = ['externalId', 'email', 'name', 'companyExternalId', 'assetExtId', 'projectExtId'];
const EVENT_INFO = [...IDENTITY, 'info', 'passive', 'weight'];

let lastDate = 0;
// Whether a user was identified: on this page, or on an earlier one; 0 after a `reset`.
let isNamed;

// A text, or a number as one: callers have numeric ids. Blank counts as not given (R32), and what is not given
// is nothing that counts.
function text(value) {
  const given = Number.isFinite(value) ? value + '' : value;
  return typeof given === 'string' && given.trim() && given;
}

// The members of an object that are texts, in one order.
function identityOf(object, names = IDENTITY) {
  const members = names.map((name) => [name, text(object?.[name])]);
  return Object.fromEntries(members.filter(([, value]) => value));
}

// The members of an object that are none of these.
function unknownIn(object, members) {
  return Object.keys(object).filter((name) => !members.includes(name));
}

function namesNobody(who) {
  return !who.externalId && !who.email;
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
  const said = text(first);
  const isTrack = name === 'track';
  // The first three members identify the user, which only `identify` changes (D15).
  isNamed = isTrack ? isNamed ?? (!namesNobody(known()) || null) : 1;
  const members = isTrack ? EVENT_INFO.slice(isNamed && 3) : IDENTITY;
  const message = identityOf(extra, members);
  const unknown = unknownIn(extra, members);
  if (isTrack) {
    message.action = said;
    if (unknown[0] || extra.info != null) {
      // Members that are no option are meant for `info` (D15). What cannot be written as JSON is a text, which no check
      // lets pass.
      const moved = () => Object.fromEntries(unknown.map((name) => [name, extra[name]]));
      const json = attempt(() => JSON.stringify([extra.info ?? {}, moved()])) || '[""]';
      const [info, others] = JSON.parse(json);
      message.info = json[1] === '{' ? { ...others, ...info } : info ?? '';
    }
    message.passive = !!extra.passive || undefined;
    if (extra.weight != null) message.weight = Number.isFinite(extra.weight) ? extra.weight : 'NaN';
  } else if (said) message.externalId = said;
  lastDate = Math.max(calledAt, lastDate + 1);
  message.date = new Date(lastDate).toISOString();
  message.messageId = uuid(lastDate);
  return { name, message, unknown, members };
}
