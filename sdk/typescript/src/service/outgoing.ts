// The author's answers as messages of the contract.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { z } from "zod";

import {
  Absent,
  type ConnectionDetails,
  type Listed,
  Observation,
  type ObservedFields,
  type Operation,
  type OperationVerb,
  Outcome,
  type Warning,
} from "../answer.js";
import { ListExternalResponseSchema, type ListExternalResponse } from "../contract/crossbridge/provider/v1alpha1/discovery_service_pb.js";
import { type Failure as WireFailure, FailureSchema } from "../contract/crossbridge/provider/v1alpha1/failure_pb.js";
import {
  type Observation as WireObservation,
  ObservationSchema,
  Tristate,
  type WarningSchema,
} from "../contract/crossbridge/provider/v1alpha1/observation_pb.js";
import {
  type Operation as WireOperation,
  OperationSchema,
  OperationVerb as WireVerb,
} from "../contract/crossbridge/provider/v1alpha1/operation_pb.js";
import { type Outcome as WireOutcome, OutcomeSchema } from "../contract/crossbridge/provider/v1alpha1/outcome_pb.js";
import { wireDuration } from "../duration.js";
import { Failure, wireCode, wireEffect } from "../failure.js";
import { isObject, type Json, type JsonObject, NotJson, writeJson } from "../json.js";
import { at, remove } from "../pointer.js";
import type { PublishedKind, Verb } from "../published.js";
import { problemText, read, write } from "../schema/document.js";
import { Violation } from "../violation.js";

export const wireVerb: Record<OperationVerb, WireVerb> = { create: WireVerb.CREATE, update: WireVerb.UPDATE, delete: WireVerb.DELETE };

/** The author returned what the method must not return. */
export const wrongType = (kind: PublishedKind, method: string, value: unknown, wanted: string): Violation =>
  new Violation(`${kind.typeName}: ${method}`, `returned ${describe(value)} where it must return ${wanted}`);

function describe(value: unknown): string {
  if (value === undefined || value === null) return `nothing (${value})`;
  const name: unknown = typeof value === "object" ? value.constructor.name : typeof value;
  return `a value of type ${String(name)}`;
}

/** Texts are texts, also of an author without a compiler. */
function checkTexts(values: object, fields: readonly string[]): void {
  for (const field of fields) {
    const value: unknown = (values as Record<string, unknown>)[field];
    if (value !== undefined && typeof value !== "string") throw new Violation(snake(field), `is ${describe(value)} where it must be a text`);
  }
}

const snake = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A failure for the body of an answer. */
export function wireFailure(failure: Failure): WireFailure {
  return create(FailureSchema, {
    code: wireCode(failure.code),
    effect: wireEffect[failure.effect],
    reason: failure.reason,
    message: failure.message,
    violations: failure.violations.map(({ path, message }) => ({ path, message })),
    upstreamCode: failure.upstreamCode,
    upstreamRequestId: failure.upstreamRequestId,
    existingExternalName: failure.existingExternalName,
    ...(failure.retryAfter === undefined ? {} : { retryAfter: wireDuration(failure.retryAfter) }),
  });
}

function operation(value: Operation, verb: OperationVerb | undefined): WireOperation {
  const { handle, pollAfter, progress, phase = "", message = "", expiresAt, pollDriven = false, upstreamOperationId = "" } = value;
  const own = value.verb ?? verb;
  checkTexts(value, ["handle", "phase", "message", "upstreamOperationId"]);
  return create(OperationSchema, {
    handle,
    verb: own === undefined ? WireVerb.UNSPECIFIED : wireVerb[own],
    phase,
    message,
    pollDriven,
    upstreamOperationId,
    ...(pollAfter === undefined ? {} : { pollAfter: wireDuration(pollAfter) }),
    ...(progress === undefined ? {} : { progressPercent: Math.floor(progress) }),
    ...(expiresAt === undefined ? {} : { expireTime: timestampFromDate(expiresAt) }),
  });
}

const isDetail = (value: unknown): value is string | Uint8Array => typeof value === "string" || value instanceof Uint8Array;

/** @throws Violation */
function details(values: ConnectionDetails = {}): Record<string, Uint8Array<ArrayBuffer>> {
  const wire = Object.entries(values).map(([key, value]: [string, unknown]) => {
    if (!isDetail(value)) throw new Violation(`connection_details[${JSON.stringify(key)}]`, `is ${describe(value)} where it must be a text or bytes`);
    return [key, new Uint8Array(Buffer.from(value as string))] as const;
  });
  return Object.fromEntries(wire);
}

const warnings = (list: readonly Warning[] = []): MessageInitShape<typeof WarningSchema>[] =>
  list.map(({ reason, message }) => ({ reason, message }));

/** A document of the author's, which must be of the kind's type. Limits are not checked: what exists may be beyond them. */
function document(schema: z.ZodType<object>, value: unknown, field: string): JsonObject {
  let json: JsonObject | undefined;
  try {
    json = isObject(value) ? write(schema, value) : undefined;
  } catch (error) {
    throw error instanceof NotJson ? new Violation(field, `are not JSON: ${error.message}`) : error;
  }
  if (json === undefined) throw new Violation(field, "are no object");
  return json;
}

function checkType(schema: z.ZodType<object>, json: JsonObject, field: string): void {
  const { problems } = read(schema, json, "types");
  if (problems !== undefined) throw new Violation(field, `are not of the kind's type: ${problemText(problems)}`);
}

export function parametersOf(kind: PublishedKind, value: unknown, field: string): JsonObject {
  const json = document(kind.parameters, value, field);
  for (const path of kind.sensitivePaths) remove(json, path);
  checkType(kind.parameters, json, field);
  return json;
}

/** @throws Violation */
export function observation(kind: PublishedKind, fields: ObservedFields, desired: JsonObject | undefined): WireObservation {
  checkTexts(fields, ["externalName", "canonicalId", "providerState", "readyMessage", "etag", "foundMarker"]);
  const parameters = parametersOf(kind, fields.parameters, "parameters");
  const status = fields.status === undefined ? undefined : document(kind.status, fields.status, "status");
  if (status !== undefined) checkType(kind.status, status, "status");
  const { differences } = fields;
  const text = (value: Json | undefined): string => (value === undefined ? "" : writeJson(value));
  return create(ObservationSchema, {
    externalName: fields.externalName,
    canonicalId: fields.canonicalId ?? "",
    providerState: fields.providerState ?? "",
    parameters: { json: writeJson(parameters) },
    ready: fields.ready ?? false,
    readyMessage: fields.ready === true ? "" : (fields.readyMessage ?? ""),
    upToDate: differences === undefined ? Tristate.UNSPECIFIED : differences.length === 0 ? Tristate.TRUE : Tristate.FALSE,
    diffs: (differences ?? []).map(({ path, needsReplacement = false }) => ({
      path,
      desiredJson: text(desired === undefined ? undefined : at(desired, path)),
      observedJson: text(at(parameters, path)),
      needsReplacement,
    })),
    connectionDetails: details(fields.connectionDetails),
    etag: fields.etag ?? "",
    deleting: fields.deleting ?? false,
    foundMarker: fields.foundMarker ?? "",
    warnings: warnings(fields.warnings),
    ...(status === undefined ? {} : { status: { json: writeJson(status) } }),
    ...(fields.operation === undefined ? {} : { operation: operation(fields.operation, undefined) }),
    ...(fields.observeAfter === undefined ? {} : { observeAfter: wireDuration(fields.observeAfter) }),
  });
}

/**
 * What Observe returned; undefined: absent under the name beside it.
 *
 * @throws Violation
 */
export function observed(kind: PublishedKind, value: unknown, desired: JsonObject): WireObservation | Absent {
  if (value instanceof Absent) return value;
  if (!(value instanceof Observation)) throw wrongType(kind, "observe", value, "found(…) or absent()");
  return observation(kind, value.fields, desired);
}

/**
 * The outcome that a method returned; a failure in it is left to the caller.
 *
 * @throws Violation
 */
export function outcome(kind: PublishedKind, method: Verb, value: unknown, desired: JsonObject): { outcome: WireOutcome; failure?: Failure } {
  if (!(value instanceof Outcome)) throw wrongType(kind, method, value, "an outcome: completed(), alreadyDone(), underWay(…) or failed(…)");
  const { externalName = "", canonicalId = "", providerState = "", connectionDetails, warnings: own } = value.details;
  checkTexts(value.details, ["externalName", "canonicalId", "providerState"]);
  const wire = create(OutcomeSchema, {
    externalName,
    canonicalId,
    providerState,
    connectionDetails: details(connectionDetails),
    warnings: warnings(own),
  });
  if (value.result instanceof Failure) return { outcome: wire, failure: value.result };
  if (typeof value.result === "object") {
    if (kind.kind.poll === undefined) throw new Violation(`${kind.typeName}: ${method}`, "returned an operation, and the kind has no method poll");
    wire.result = { case: "operation", value: operation(value.result, method === "poll" || method === "observe" ? undefined : method) };
    return { outcome: wire };
  }
  const completed = create(OutcomeSchema, { result: { case: "completed", value: { alreadyDone: value.result === "already-done" } } }).result;
  wire.result = completed;
  if (value.observation !== undefined && completed.case === "completed") {
    if (!(value.observation instanceof Observation)) throw wrongType(kind, method, value.observation, "an observation: found(…)");
    try {
      completed.value.observation = moved(observation(kind, value.observation.fields, desired), wire);
    } catch (error) {
      throw error instanceof Violation ? new Violation(`completed.observation.${error.field}`, error.rule) : error;
    }
  }
  return { outcome: wire };
}

/** What of an outcome may be given only once, as far as it is of its type: it goes along with whatever becomes of the rest. */
export function named(value: unknown): WireOutcome {
  if (!(value instanceof Outcome)) return create(OutcomeSchema);
  const observed: unknown = value.observation instanceof Observation ? value.observation.fields : {};
  const [own, found] = [value.details, observed].map((fields) => (isObject(fields) ? fields : {}));
  const text = (field: "externalName" | "canonicalId"): string =>
    [own?.[field], found?.[field]].find((text): text is string => typeof text === "string" && text !== "") ?? "";
  const given = [found, own].flatMap((fields) => Object.entries((fields?.["connectionDetails"] ?? {}) as Record<string, unknown>));
  return create(OutcomeSchema, {
    externalName: text("externalName"),
    canonicalId: text("canonicalId"),
    connectionDetails: details(Object.fromEntries(given.filter((detail): detail is [string, string | Uint8Array] => isDetail(detail[1])))),
  });
}

/** The name, id, state, details and warnings of an observation become the outcome's, where it has none of its own. */
function moved(observation: WireObservation, outcome: WireOutcome): WireObservation {
  for (const key of ["externalName", "canonicalId", "providerState"] as const) {
    if (outcome[key] === "") outcome[key] = observation[key];
    observation[key] = "";
  }
  outcome.connectionDetails = { ...observation.connectionDetails, ...outcome.connectionDetails };
  observation.connectionDetails = {};
  outcome.warnings.push(...observation.warnings);
  observation.warnings = [];
  return observation;
}

/** @throws Violation */
export function listed(kind: PublishedKind, value: unknown): ListExternalResponse {
  if (!isObject(value) || !Array.isArray(value["items"])) throw wrongType(kind, "list", value, "a page: { items: […] }");
  const page = value as unknown as Listed;
  return create(ListExternalResponseSchema, {
    items: page.items.map(({ externalName, canonicalId = "", displayName = "", parameters, foundMarker = "" }, index) => ({
      externalName,
      canonicalId,
      displayName,
      foundMarker,
      ...(parameters === undefined ? {} : { parameters: { json: writeJson(parametersOf(kind, parameters, `items[${index}].parameters`)) } }),
    })),
    nextPageToken: page.nextPageToken ?? "",
    unreachable: [...(page.unreachable ?? [])],
  });
}
