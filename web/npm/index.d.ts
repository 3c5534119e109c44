/** The visitor's answer: `pending` keeps calls in memory, `denied` drops them and what was stored. */
export type Consent = 'granted' | 'denied' | 'pending';

/** An id of yours. */
export type Id = string | number;

/** Options of `init` and `load`. */
export interface Options {
  /** Whether the visitor agrees; `granted` unless it is given. */
  consent?: Consent;
  /** Track each page once, as `Viewed page` with its path. */
  pageViews?: boolean;
  /** Explain every call in the console. */
  debug?: boolean;
  /** Called with each warning of the console. */
  onWarning?: (line: string) => void;
}

/** Who the visitor is, and where they belong. */
export interface Identity {
  /** The user's id; the first argument of `identify` goes before it. */
  externalId?: Id;
  email?: string;
  name?: string;
  /** The id of the user's company. */
  companyExternalId?: Id;
  /** The id of the asset that they use. */
  assetExtId?: Id;
  /** The id of the project that they work on. */
  projectExtId?: Id;
}

/** What is said of an event. */
export interface EventInfo extends Identity {
  /** Extra data: what JSON can hold. */
  info?: object;
  /** It does not count as activity. */
  passive?: boolean;
  /** How much it counts beside others; 1 unless it is given. */
  weight?: number;
}

/** Sets the address to which events go, `https://<server>/analytics/<tenant>`, and starts. */
export function load(endpoint: string, options?: Options): void;
/** Sets options. */
export function init(options?: Options): void;
/** Says who is there: an id of yours, or null and an e-mail. It is kept in the cookie `_svctrack`. */
export function identify(userId: Id | null, extra?: Identity): void;
/** Says what the user did. */
export function track(action: string, extra?: EventInfo): void;
/** Forgets who is there: for a log-out. */
export function reset(): void;
/** Says what the visitor decided. */
export function consent(given: Consent): void;

declare global {
  interface Window {
    /** The same calls, where a page loads the script by its snippet or this module. */
    svctrack: {
      load: typeof load;
      init: typeof init;
      identify: typeof identify;
      track: typeof track;
      reset: typeof reset;
      consent: typeof consent;
    };
  }
}
