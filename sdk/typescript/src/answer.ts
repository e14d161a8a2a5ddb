// What a plugin can answer.

import { inspect } from "node:util";

import type { Duration } from "./duration.js";
import { Failure } from "./failure.js";

/** What an operation does. */
export type OperationVerb = "create" | "update" | "delete";

/** Work upstream that outlasts a call, and the handle by which any replica, and the next version, can follow it. */
export interface Operation {
  /**
   * Not empty, at most 4 KiB, no secrets; the same from poll to poll unless it must change: each change costs the bridge a write.
   * `handleFormat` writes and reads handles in form.
   */
  handle: string;
  /** Unset: that of the call which answers it. A poll always sets it. */
  verb?: OperationVerb;
  /** Earliest next poll; the bridge takes more than an hour for an hour. Unset: the bridge's choice. */
  pollAfter?: Duration;
  /** How far it has got, 0 to 100. */
  progress?: number;
  /** The step it is in, in PascalCase: a condition's reason. */
  phase?: string;
  /** What users read of its progress. */
  message?: string;
  /** Polls after this may fail with OPERATION_EXPIRED; at least 24 h ahead. Unset: never. */
  expiresAt?: Date;
  /** It moves only when polled. */
  pollDriven?: boolean;
  /** The upstream's own id, for support tickets. */
  upstreamOperationId?: string;
}

/** Worth an event: a stable reason in PascalCase, and a sentence. */
export interface Warning {
  reason: string;
  message: string;
}

/** Keys and values for the connection Secret. A key that is left out stays as it was published. */
export type ConnectionDetails = Readonly<Record<string, string | Uint8Array>>;

/** One difference between desired and observed state. */
export interface Difference {
  /** JSON Pointer into the parameters. */
  path: string;
  /** It cannot be changed in place. */
  needsReplacement?: boolean;
}

/** What is reported of an external resource that exists. */
export interface ObservedFields<P = unknown, S = unknown> {
  /** The name under which it was found. Never changes. */
  externalName: string;
  /** In the shape of the desired parameters. Fields that the schema does not name, and sensitive ones, are left out by the SDK. */
  parameters: P;
  /** What is only observed: `status.atProvider`. */
  status?: S;
  /** Others can use it. Unset: not yet. */
  ready?: boolean;
  /** Why others cannot use it yet. */
  readyMessage?: string;
  /** Globally unique id (ARN, self link), to catch two owners of one thing. */
  canonicalId?: string;
  /** To be handed back on every later call. At most 4 KiB, no secrets. Unset keeps the former one. */
  providerState?: string;
  /** The upstream's version of the resource, to be handed back on update and delete. */
  etag?: string;
  /** The marker found on it; empty where no owner has claimed it. If it cannot be read, throw a failure instead. */
  foundMarker?: string;
  /** Removal has begun upstream and goes on by itself. */
  deleting?: boolean;
  /** An operation that was found running. */
  operation?: Operation & { verb: OperationVerb };
  connectionDetails?: ConnectionDetails;
  /** Observe again no sooner than this; the bridge takes more than an hour for an hour. */
  observeAfter?: Duration;
  /** Where the plugin compares: what differs from the desired state; none: it agrees. */
  differences?: readonly Difference[];
  warnings?: readonly Warning[];
}

/** An external resource that exists, as it is: `found` creates it. Neither `console.log` nor JSON shows connection details. */
export class Observation<P = unknown, S = unknown> {
  readonly #fields: ObservedFields<P, S>;

  constructor(fields: ObservedFields<P, S>) {
    this.#fields = fields;
  }

  get fields(): ObservedFields<P, S> {
    return this.#fields;
  }

  toJSON(): object {
    return redacted(this.#fields);
  }

  [inspect.custom](): object {
    return redacted(this.#fields);
  }
}

/** The documents are left out: they may hold what no log should show. */
function redacted(fields: object): object {
  const { connectionDetails, parameters: _parameters, status: _status, ...rest } = fields as ObservedFields;
  return { ...rest, ...(connectionDetails === undefined ? {} : { connectionDetails: Object.keys(connectionDetails) }) };
}

/** The external resource exists, as described. */
export const found = <P, S = never>(fields: ObservedFields<P, S>): Observation<P, S> => new Observation(fields);

/** The upstream said that there is no such resource. */
export class Absent {
  constructor(readonly externalName: string) {}
}

/** The answer to an Observe that could read the upstream. */
export type Observed<P = unknown, S = unknown> = Observation<P, S> | Absent;

/** The upstream said that there is no such resource. A read that failed is an error, never this. Where names are derived: the name that it would have. */
export const absent = (externalName = ""): Absent => new Absent(externalName);

/** What can be reported beside every outcome. */
export interface OutcomeDetails {
  /** The name, as soon as it is known. Never changes. */
  externalName?: string;
  /** Globally unique id (ARN, self link), to catch two owners of one thing. */
  canonicalId?: string;
  /** To be handed back on every later call. At most 4 KiB, no secrets. Unset keeps the former one. */
  providerState?: string;
  /** Perhaps keys that the upstream gives only now. */
  connectionDetails?: ConnectionDetails;
  warnings?: readonly Warning[];
}

/** How a call that changes something ended, or goes on. `completed`, `alreadyDone`, `underWay` and `failed` create it. */
export class Outcome<P = unknown, S = unknown> {
  readonly #details: OutcomeDetails;

  constructor(
    readonly result: "completed" | "already-done" | Operation | Failure,
    details: OutcomeDetails,
    readonly observation?: Observation<P, S>,
  ) {
    this.#details = details;
  }

  get details(): OutcomeDetails {
    return this.#details;
  }

  toJSON(): object {
    return { result: this.result, observation: this.observation, ...redacted(this.#details) };
  }

  [inspect.custom](): object {
    return this.toJSON();
  }
}

/**
 * The call's whole effect is in place and was verified upstream. With an observation, which saves the bridge an Observe (not after a delete): name,
 * id, state and connection details are taken from it where `details` has none.
 */
export const completed = <P = never, S = never>(observation?: Observation<P, S>, details: OutcomeDetails = {}): Outcome<P, S> =>
  new Outcome("completed", details, observation);

/** Delete found nothing, or create found its own earlier work. */
export const alreadyDone = <P = never, S = never>(observation?: Observation<P, S>, details: OutcomeDetails = {}): Outcome<P, S> =>
  new Outcome("already-done", details, observation);

/** Under way: the bridge stores the operation, then polls. */
export const underWay = (operation: Operation, details: OutcomeDetails = {}): Outcome<never, never> => new Outcome(operation, details);

/** Rejected, or failed midway, with what is to be reported beside it. Where there is nothing, throwing the failure does the same. */
export const failed = (failure: Failure, details: OutcomeDetails = {}): Outcome<never, never> => new Outcome(failure, details);

/** One external resource that exists. */
export interface ListedItem<P = unknown> {
  externalName: string;
  canonicalId?: string;
  /** The name that people see. */
  displayName?: string;
  /** Ready to become `spec.forProvider`. */
  parameters?: P;
  /** Who owns it already, where marked. */
  foundMarker?: string;
}

/** One page of the external resources that exist. */
export interface Listed<P = unknown> {
  items: readonly ListedItem<P>[];
  /** Unset on the last page. */
  nextPageToken?: string;
  /** Regions or scopes that did not answer. */
  unreachable?: readonly string[];
}
