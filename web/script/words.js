// The console messages about a call. They come with the engine, since no visitor waits for them; where they are
// missing, the loader logs what it would have given to these functions.

const REASONS = {
  action_missing: 'the action is missing',
  identity_missing: 'an id or an e-mail is missing',
  queue_full: 'the queue is full',
  too_old: 'older than 12 hours',
};

// A message, given as JSON, as its call.
function call(json) {
  const { action, externalId, email } = JSON.parse(json);
  return action ? `track(${action})` : `identify(${externalId || email || ''})`;
}

// Whether `part` abbreviates `whole`: at least half its letters, in the same order.
function isPart(part, whole) {
  let rest = part;
  for (const letter of whole) if (letter === rest[0]) rest = rest.slice(1);
  return !rest && whole.length <= 2 * part.length;
}

// How far a name is from one that may be meant, where letters are missing, added or in another order; else infinite.
// A common start brings them nearer.
function distance(one, other) {
  const [first, second] = [one, other].map((name) => name.toLowerCase().replace(/_/g, ''));
  const sorted = (name) => [...name].sort().join('');
  if (!isPart(first, second) && !isPart(second, first) && sorted(first) !== sorted(second)) return Infinity;
  let start = 0;
  while (first[start] && first[start] === second[start]) start++;
  return Math.abs(first.length - second.length) - start;
}

const quoted = (names) => names.map((name) => `\`${name}\``).join(', ');

// What happens to the unknown members of a call, and what to do.
function unknown(method, names, known) {
  const isMoved = method === 'track';
  const far = (one) => Math.min(...names.map((name) => distance(name, one)));
  const meant = known.filter((one) => far(one) < Infinity).sort((one, other) => far(one) - far(other));
  const rest = meant[0] ? `; did you mean ${quoted(meant)}?` : isMoved ? '' : `; expected ${quoted(known)}`;
  return `${method}: ${quoted(names)} ${isMoved ? 'moved into `info`' : 'ignored'}${rest}`;
}

// What happens after a request failed.
function retry(status, endpoint, count, isLast) {
  const what = status ? `the server responded ${status}` : `no response from ${endpoint}`;
  const next = isLast ? 'retries paused until the next call, or until online' : 'retrying';
  return `${what}; ${count} event${count === 1 ? '' : 's'} queued, ${next}`;
}

// A placeholder id of the user or company in a message, such as `undefined`; none if there is no such id.
export function placeholder({ externalId, companyExternalId }) {
  return [externalId, companyExternalId].find((id) => id && is_placeholder(id));
}

export const words = {
  unknown,
  retry,
  placeholder: (json, id) =>
    `${call(json)}: the id "${id}" is a placeholder; send the real id`,
  // Without an action a message reads as an `identify`.
  not_sent: (json, why) => `${why === 'action_missing' ? 'track()' : call(json)} not sent: ${REASONS[why] || why}`,
  events_wait: () => 'events queued until svctrack.identify',
  waits: (json) => `${call(json)} waits for svctrack.identify`,
  queued: (json) => `${call(json)} queued: ${json}`,
  left: (json) => `${call(json)} sent on page unload`,
  stored: (json, parked) => `${call(json)} ` + (parked ? `parked by the server: ${parked}; see GET /integrationissues` : 'stored'),
  rejected: (json, status, detail) =>
    `${call(json)} rejected by the server: ${detail || status}${status === 404 ? '; check svctrack.load' : ''}`,
};
