// One call: what it is about, until when it may work, and how it can fail.

import { create, getOption, type MessageInitShape } from "@bufbuild/protobuf";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { type Metadata, type ServerUnaryCall, status } from "@grpc/grpc-js";
import { parse, stringify } from "lossless-json";

import { Effect, FailureCode, type FailureSchema } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";
import { is_required } from "./contract/crossbridge/provider/v1alpha1/options_pb.js";
import { type Document, type Target, TargetSchema, DocumentSchema } from "./contract/crossbridge/provider/v1alpha1/target_pb.js";

const LONGEST_CHANGE = 60_000;
const MARKER = /^[a-z][a-z0-9-]{0,62}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A JSON object. Whole numbers are bigints: those beyond 2^53 stay exact. */
export type Json = Record<string, unknown>;

/** A checked request. */
export interface Call {
  target: Target;
  desired: Json;
  /** Sensitive values by JSON Pointer. */
  secrets: Record<string, string>;
  /** Unix milliseconds. */
  deadline: number;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

/** The caller's mistake: nothing was done. */
export class Rejected extends Error {
  constructor(
    message: string,
    readonly code: status = status.INVALID_ARGUMENT,
  ) {
    super(message);
  }
}

/** What the bakery rejects. Nothing was done, unless another effect is reported. */
export class Failed extends Error {
  readonly failure: MessageInitShape<typeof FailureSchema>;
  constructor(
    code: FailureCode,
    reason: string,
    message: string,
    { path, effect = Effect.NONE, name = "" }: { path?: string; effect?: Effect; name?: string } = {},
  ) {
    super(message);
    this.name = name;
    const violations = path === undefined ? [] : [{ path, message }];
    this.failure = { code, effect, reason, message, violations };
  }
}

export const invalid = (path: string, reason: string, message: string) => new Failed(FailureCode.INVALID_SPEC, reason, message, { path });

/** gRPC's own deadline is relative to the arrival; the metadata may carry the absolute one. In Unix milliseconds. */
export function deadline(call: ServerUnaryCall<unknown, unknown>, changes: boolean): number {
  const now = Date.now();
  const given = Number(call.getDeadline());
  if (changes && given > now + LONGEST_CHANGE) {
    throw new Rejected("a call that changes something needs a deadline of at most 60 s", status.FAILED_PRECONDITION);
  }
  let end = Math.min(given, now + LONGEST_CHANGE);
  const absolute = text(call.metadata, "crossbridge-deadline-ms");
  if (absolute) {
    if (!/^\d+$/.test(absolute)) throw new Rejected("the metadata crossbridge-deadline-ms is malformed");
    end = Math.min(end, Number(absolute));
  }
  if (now >= end) throw new Rejected("the deadline has passed: nothing was done", status.FAILED_PRECONDITION);
  return end;
}

/** Aborted when the call is cancelled. */
export function cancellation(call: ServerUnaryCall<unknown, unknown>): AbortSignal {
  const controller = new AbortController();
  call.on("cancelled", () => controller.abort());
  if (call.cancelled) controller.abort();
  return controller.signal;
}

/** Nothing is begun after the deadline, nor for a caller who has cancelled. */
export function ensureTime({ deadline, signal }: Call): void {
  if (Date.now() < deadline && !signal.aborted) return;
  throw new Rejected("the deadline passed, or the call was cancelled: nothing was done", status.FAILED_PRECONDITION);
}

export const text = (metadata: Metadata, key: string): string => String(metadata.get(key)[0] ?? "");

/** Every field that the contract marks as required is there. */
export function check(message: ReflectMessage, path = ""): void {
  for (const field of message.fields) {
    const at = path + field.name;
    if (getOption(field, is_required) && !message.isSet(field)) throw new Rejected(`${at} is required, and is not set`);
    if (field.fieldKind === "message" && message.isSet(field)) check(message.get(field), `${at}.`);
  }
  if (message.desc.typeName === TargetSchema.typeName) checkTarget(message.message as Target, path);
}

function checkTarget(target: Target, path: string): void {
  for (const [name, marker] of Object.entries({ ownership_marker: target.ownershipMarker, former_marker: target.formerMarker })) {
    if (marker && !MARKER.test(marker)) {
      throw new Rejected(`${path}${name} is malformed: at most 63 of a-z, 0-9 and '-', beginning with a letter`);
    }
  }
  if (target.providerState) throw new Rejected(`${path}provider_state is foreign: this plugin gives out none`);
}

export function checkToken(token: string): void {
  if (!UUID.test(token)) throw new Rejected("client_request_token is malformed: not a UUID");
}

/** Does this object own what bears the marker? */
export const owns = ({ target }: Call, marker: string): boolean =>
  marker !== "" && (marker === target.ownershipMarker || marker === target.formerMarker);

/** The object in a document. */
export function read(document: Document | undefined, at: string): Json {
  try {
    const value = parse(document?.json ?? "", undefined, (number) => (/^-?\d+$/.test(number) ? BigInt(number) : Number(number)));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  } catch {
    // Reported below: the error's text quotes the document.
  }
  throw new Rejected(`${at}.json is malformed: not the JSON text of an object`);
}

export const document = (value: Json): Document => create(DocumentSchema, { json: stringify(value) ?? "{}" });

