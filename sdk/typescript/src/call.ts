// What a plugin is asked.

import { createHash } from "node:crypto";

import { InvalidArgument, Failure, Rejection } from "./failure.js";
import { status } from "@grpc/grpc-js";
import type { Config } from "./config.js";
import type { Deadline } from "./deadline.js";
import { type JsonObject, writeJson } from "./json.js";
import type { Logger } from "./log.js";
import type { Secrets } from "./secrets.js";

/** W3C trace context of the caller. */
export interface Trace {
  traceId: string;
  parentSpanId: string;
  /** For the headers of upstream requests. */
  traceparent: string;
}

/** The Kubernetes object on whose behalf a call is sent. */
export interface Owner {
  /** Empty for cluster-scoped kinds. */
  namespace: string;
  name: string;
  uid: string;
  generation: bigint;
}

/** What every call has: settings, credentials, a deadline. */
export interface CallContext {
  config: Config;
  deadline: Deadline;
  /** Aborted at the deadline, and when the caller goes away: hand it to every upstream request. */
  signal: AbortSignal;
  /** The bridge's id of this call. */
  id: string;
  trace: Trace | undefined;
  log: Logger;
}

/** The context of a call that is about no single resource. */
export class ConfigCall {
  /** Settings and credentials. */
  readonly config: Config;
  readonly deadline: Deadline;
  /** Aborted at the deadline, and when the caller goes away: hand it to every upstream request. */
  readonly signal: AbortSignal;
  /** The bridge's id of this call. */
  readonly id: string;
  readonly trace: Trace | undefined;
  /** Its lines have the call's id, kind and owner. */
  readonly log: Logger;

  constructor(context: CallContext) {
    this.config = context.config;
    this.deadline = context.deadline;
    this.signal = context.signal;
    this.id = context.id;
    this.trace = context.trace;
    this.log = context.log;
  }

  /**
   * Nothing is begun after the deadline, nor for a caller who has gone away: call it right before the request that counts, after every wait.
   * `fetch` with `call.signal` does so by itself.
   *
   * @throws Rejection
   */
  ensureTime(): void {
    if (!this.deadline.hasPassed && !this.signal.aborted) return;
    throw new Rejection(status.FAILED_PRECONDITION, "the deadline passed, or the call was cancelled: nothing was done");
  }
}

/** A request for one page of the external resources that exist. */
export class ListCall<F = unknown> extends ConfigCall {
  constructor(
    context: CallContext,
    readonly filter: F,
    /** At most this many; 0: the plugin's choice. */
    readonly pageSize: number,
    /** From the page before; empty: the first page. */
    readonly pageToken: string,
    /** Fill in the parameters of each item. */
    readonly includeParameters: boolean,
  ) {
    super(context);
  }
}

/** What a call is about. */
export interface Target {
  externalName: string;
  ownershipMarker: string;
  formerMarker: string;
  providerState: string;
  owner: Owner;
}

/** What the SDK knows of a call beside its target. */
export interface ResourceContext extends CallContext {
  target: Target;
  json: JsonObject;
  sensitive: Secrets;
  /** A resource without a marker is not ours: Delete and polls of a kind with MARKER recovery. */
  rejectsUnmarked: boolean;
  recorded: RecordedName;
}

/** The name that the upstream has given, the moment it is known. */
export class RecordedName {
  name = "";
}

/** The context of a call about one resource. */
export class ResourceCall extends ConfigCall {
  /** Name of the external resource; empty where none is known yet. */
  readonly externalName: string;
  /** Put this on the external resource where the kind holds a marker. At most 63 of `[a-z0-9-]`, begins with a letter. */
  readonly ownershipMarker: string;
  /** Another marker that counts as ours, and that the next update replaces; empty: none. */
  readonly formerMarker: string;
  /** Whatever this plugin last returned; empty: nothing. */
  readonly providerState: string;
  readonly owner: Owner;
  /** The desired state as the JSON that came, without sensitive values. */
  readonly json: JsonObject;
  readonly #sensitive: Secrets;
  readonly #rejectsUnmarked: boolean;
  readonly #recorded: RecordedName;

  constructor(context: ResourceContext) {
    super(context);
    this.externalName = context.target.externalName;
    this.ownershipMarker = context.target.ownershipMarker;
    this.formerMarker = context.target.formerMarker;
    this.providerState = context.target.providerState;
    this.owner = context.target.owner;
    this.json = context.json;
    this.#sensitive = context.sensitive;
    this.#rejectsUnmarked = context.rejectsUnmarked;
    this.#recorded = context.recorded;
  }

  /** The value of a sensitive field, by its JSON Pointer: `/masterPassword`. */
  sensitive(pointer: string): string | undefined {
    return this.#sensitive.text(pointer);
  }

  /**
   * Records which name the upstream has given, the moment it is known. Whatever becomes of the call then, the bridge gets the name. The first one
   * counts. A creation that fails afterwards never reports that nothing was done, save for NOT_FOUND.
   */
  recordName(externalName: string): void {
    if (this.#recorded.name === "") this.#recorded.name = externalName;
  }

  /** Whether a marker found on a resource is ours, or one that a person has said is ours too. */
  isOurs(foundMarker: string): boolean {
    return foundMarker !== "" && (foundMarker === this.ownershipMarker || foundMarker === this.formerMarker);
  }

  /**
   * Rejects a resource that this object does not own, by the marker found on it, as the contract has it: another marker always; none where the call
   * is Delete or a poll and the kind is recovered by marker. An update accepts one without a marker: it adopts it.
   *
   * @throws Failure NOT_FOUND
   */
  ensureOwned(foundMarker: string): void {
    if (foundMarker === "" ? this.#rejectsUnmarked : !this.isOurs(foundMarker)) {
      throw Failure.notFound(`${JSON.stringify(this.externalName)} belongs to another owner, or to none`, { reason: "NotOwned" });
    }
  }

  /**
   * For a kind that hands out no provider state.
   *
   * @throws InvalidArgument
   */
  rejectProviderState(): void {
    if (this.providerState !== "") throw new InvalidArgument("target.provider_state", "is foreign: this kind hands out none");
  }
}

/** A call with a desired state that may be incomplete: what is only observed has no required fields, and a deletion must not stop at one. */
class KnownCall<P> extends ResourceCall {
  constructor(
    context: ResourceContext,
    /** The desired state; undefined where what came does not fit the type. */
    readonly parameters: P | undefined,
  ) {
    super(context);
  }
}

/** Read the external resource. Changes nothing. */
export class ObserveCall<P = unknown> extends KnownCall<P> {}

/** Follow an operation. */
export class PollCall<P = unknown> extends KnownCall<P> {
  constructor(
    context: ResourceContext,
    parameters: P | undefined,
    /** As this plugin returned it, perhaps in an earlier version. */
    readonly handle: string,
  ) {
    super(context, parameters);
  }
}

/** Of a call with the etag of the last observation. */
function ensureEtag(sent: string, current: string): void {
  if (sent !== "" && sent !== current) throw Failure.conflict("the resource was changed since it was observed", { reason: "EtagChanged" });
}

/** Remove the external resource. */
export class DeleteCall<P = unknown> extends KnownCall<P> {
  constructor(
    context: ResourceContext,
    parameters: P | undefined,
    /** From the last observation; empty: none. */
    readonly etag: string,
  ) {
    super(context, parameters);
  }

  /**
   * Rejects what was changed since the bridge observed it.
   *
   * @throws Failure CONFLICT
   */
  ensureEtag(current: string): void {
    ensureEtag(this.etag, current);
  }
}

/** Change the external resource in place. */
export class UpdateCall<P = unknown> extends ResourceCall {
  constructor(
    context: ResourceContext,
    /** What it should become. A field that is absent means no opinion; sensitive ones are always absent. */
    readonly parameters: P,
    /** JSON Pointers that the bridge found to differ: a hint. Empty where the plugin compares. */
    readonly changedPaths: readonly string[],
    /** From the last observation; empty: none. */
    readonly etag: string,
  ) {
    super(context);
  }

  /**
   * Rejects what was changed since the bridge observed it.
   *
   * @throws Failure CONFLICT
   */
  ensureEtag(current: string): void {
    ensureEtag(this.etag, current);
  }
}

/** Create an external resource. */
export class CreateCall<P = unknown> extends ResourceCall {
  /** What the token stands for, as a digest: type, config, name, marker and parameters, without sensitive values. Store it with the token. */
  readonly requestDigest: string;

  constructor(
    context: ResourceContext,
    type: string,
    /** What to create. A field that is absent means no opinion; sensitive ones are always absent. */
    readonly parameters: P,
    /** A UUID, the same for each repeat of this creation. Hand it to the upstream where it takes one. */
    readonly token: string,
    /** The bridge does not know how an earlier call with this token ended: search by token, name or marker first. */
    readonly outcomeUnknown: boolean,
  ) {
    super(context);
    const request = [type, this.config.id, this.externalName, this.ownershipMarker, this.json];
    this.requestDigest = sha256(writeJson(request, true));
  }

  /** A name that the same token always gives: `prefix` and so many hexadecimal digits, at most 64. */
  nameOfToken(prefix: string, digits = 16): string {
    return prefix + sha256(this.token.toLowerCase()).slice(0, digits);
  }

  /**
   * Rejects another request that came under the same token.
   *
   * @throws Failure TOKEN_REUSED
   */
  ensureSameRequest(storedDigest: string): void {
    if (storedDigest !== this.requestDigest) throw Failure.tokenReused("another request came earlier under this token");
  }
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
