/** The visitor's consent: `pending` holds calls in memory, `denied` drops them and what was stored. */
export type Consent = 'granted' | 'denied' | 'pending';

/** An id of yours. */
export type Id = string | number;

/** Options of `init` and `load`. */
export interface Options {
{{options}}}

/** Who the visitor is, and where they belong. */
export interface Identity {
{{identity}}}

/** Members of an event. */
export interface EventInfo extends Identity {
{{event_info}}
  /** Any other member is one of `info`. */
  [member: string]: unknown;
}

{{calls}}
declare global {
  interface Window {
    /** The same calls, where a page loads the script by its snippet or this module. */
    svctrack: {
{{methods}}    };
  }
}
