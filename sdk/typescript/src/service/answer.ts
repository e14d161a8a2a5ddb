// What leaves the plugin: the author's answer if it keeps the contract, else a failure that names the broken rule.

import { create } from "@bufbuild/protobuf";

import type { Absent } from "../answer.js";
import type { ListExternalResponse } from "../contract/crossbridge/provider/v1alpha1/discovery_service_pb.js";
import { Effect, type Failure as WireFailure, FailureCode } from "../contract/crossbridge/provider/v1alpha1/failure_pb.js";
import { DiffMode, ExternalNameSource } from "../contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { type Observation, Tristate } from "../contract/crossbridge/provider/v1alpha1/observation_pb.js";
import { type Operation, OperationVerb } from "../contract/crossbridge/provider/v1alpha1/operation_pb.js";
import { type Outcome, OutcomeSchema } from "../contract/crossbridge/provider/v1alpha1/outcome_pb.js";
import { Failure } from "../failure.js";
import type { PublishedKind, Verb } from "../published.js";
import { holdsSecret, scrubbed } from "../secrets.js";
import {
  atMost,
  count,
  details,
  DIFFS_LIMIT,
  each,
  missing,
  name,
  notAllowed,
  pascalCase,
  pointer,
  required,
  secretKey,
  STATE_LIMIT,
  Violation,
  VIOLATIONS_LIMIT,
  WARNINGS_LIMIT,
  within,
} from "../violation.js";
import { wireFailure, wireVerb } from "./outgoing.js";

/** What answers are checked against: the kind, the name that was sent, the name that was recorded, and what may stand in no text. */
export interface AnswerContext {
  kind: PublishedKind;
  sentName: string;
  recordedName: string;
  secrets: readonly string[];
  broken: Broken;
}

/** Reports an answer that breaks the contract to the plugin's author; the failure that leaves in its place. */
export type Broken = (violation: Violation) => Failure;

/** The plugin's author has a bug. */
export const invalidAnswer = (violation: Violation): Failure =>
  Failure.internal(`the plugin's answer breaks the contract: ${violation.message}`, { reason: "InvalidAnswer" });

/** A failure for the body, in form and without secrets. */
export function failureOf(failure: Failure, secrets: readonly string[], broken: Broken): WireFailure {
  const wire = wireFailure(failure);
  try {
    within("failure", () => {
      checkFailure(wire);
    });
    return withoutSecrets(wire, secrets);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return withoutSecrets(wireFailure(broken(error)), secrets);
  }
}

function withoutSecrets(failure: WireFailure, secrets: readonly string[]): WireFailure {
  failure.message = scrubbed(failure.message, secrets);
  for (const violation of failure.violations) violation.message = scrubbed(violation.message, secrets);
  return failure;
}

function checkFailure({ reason, message, existingExternalName, violations }: WireFailure): void {
  pascalCase(reason, "reason");
  required(message, "message");
  name(existingExternalName, "existing_external_name");
  count(violations, VIOLATIONS_LIMIT, "violations");
  each(violations, "violations", (violation) => {
    if (violation.path !== "") pointer(violation.path, "path");
    name(violation.path, "path");
    required(violation.message, "message");
  });
}

/** A state or a handle that is too long, or holds a secret. */
function checkState(value: string, field: string, secrets: readonly string[]): void {
  atMost(value, STATE_LIMIT, field);
  if (holdsSecret(value, secrets)) throw notAllowed(field, "it holds a credential or a sensitive value");
}

function checkOperation(operation: Operation, secrets: readonly string[]): void {
  required(operation.handle, "handle");
  checkState(operation.handle, "handle", secrets);
  name(operation.upstreamOperationId, "upstream_operation_id");
  if (operation.verb === OperationVerb.UNSPECIFIED) throw missing("verb");
  const { progressPercent: progress } = operation;
  if (progress !== undefined && !(progress >= 0 && progress <= 100)) throw new Violation("progress_percent", "is out of range: 0 to 100 is allowed");
  if (operation.phase !== "") pascalCase(operation.phase, "phase");
  operation.message = scrubbed(operation.message, secrets);
}

function checkWarnings(warnings: Outcome["warnings"], secrets: readonly string[]): void {
  count(warnings, WARNINGS_LIMIT, "warnings");
  each(warnings, "warnings", (warning) => {
    pascalCase(warning.reason, "reason");
    required(warning.message, "message");
    warning.message = scrubbed(warning.message, secrets);
  });
}

function checkDetails(kind: PublishedKind, values: Record<string, Uint8Array>): void {
  details(values, "connection_details");
  for (const key of Object.keys(values)) secretKey(key, `connection_details[${JSON.stringify(key)}]`);
  kind.checkConnectionKeys(Object.keys(values));
}

/**
 * Checks an observation, and takes secrets out of its texts.
 *
 * @throws Violation
 */
export function checkObservation(observation: Observation, { kind, sentName, secrets }: AnswerContext): void {
  name(observation.externalName, "external_name");
  name(observation.canonicalId, "canonical_id");
  name(observation.etag, "etag");
  name(observation.foundMarker, "found_marker");
  checkState(observation.providerState, "provider_state", secrets);
  count(observation.diffs, DIFFS_LIMIT, "diffs");
  each(observation.diffs, "diffs", (diff) => {
    pointer(diff.path, "path");
    name(diff.path, "path");
  });
  if (observation.externalName !== "" && sentName !== "" && observation.externalName !== sentName) throw changedName(sentName);
  if (kind.wire.capabilities?.diffMode === DiffMode.PLUGIN && observation.upToDate === Tristate.UNSPECIFIED) {
    throw missing("up_to_date", "where the plugin compares");
  }
  checkDetails(kind, observation.connectionDetails);
  const { operation } = observation;
  if (operation !== undefined) {
    within("operation", () => {
      checkOperation(operation, secrets);
    });
  }
  checkWarnings(observation.warnings, secrets);
  observation.readyMessage = scrubbed(observation.readyMessage, secrets);
}

const changedName = (sentName: string): Violation =>
  notAllowed("external_name", `the resource is ${JSON.stringify(sentName)}, and a name never changes`);

/** @throws Violation */
export function checkObserved(observed: Observation | Absent, context: AnswerContext): void {
  if ("parameters" in observed) {
    within("observation", () => {
      required(observed.externalName, "external_name");
      checkObservation(observed, context);
    });
  } else if (observed.externalName === "" && context.kind.wire.externalName?.source === ExternalNameSource.DERIVED) {
    throw missing("absent.external_name", "where names are derived");
  } else {
    name(observed.externalName, "absent.external_name");
  }
}

/** @throws Violation */
export function checkListed(listed: ListExternalResponse): void {
  each(listed.items, "items", (item) => {
    required(item.externalName, "external_name");
  });
}

/** Completes an outcome by the name that was recorded, checks it, and puts a failure in its place if it breaks the contract. */
export function finished(outcome: Outcome, verb: Verb, context: AnswerContext): Outcome {
  if (outcome.externalName === "") outcome.externalName = context.recordedName;
  correctEffect(outcome, verb, context);
  try {
    checkOutcome(outcome, verb, context);
    return outcome;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return salvaged(outcome, verb, context, context.broken(error));
  }
}

/**
 * Corrects a failure that reports that nothing was changed, beside a name that the upstream gave: something was, as a name is given with a resource.
 * NOT_FOUND apart, which means that what had the name is absent. Of a poll, only OPERATION_FAILED speaks of the creation.
 */
function correctEffect({ result, externalName }: Outcome, verb: Verb, { sentName, recordedName }: AnswerContext): void {
  if (result.case !== "failure" || result.value.effect !== Effect.NONE) return;
  const isNew = recordedName !== "" || (sentName === "" && externalName !== "");
  const { code } = result.value;
  const speaksOfCreation = verb === "create" ? code !== FailureCode.NOT_FOUND : verb === "poll" && code === FailureCode.OPERATION_FAILED;
  if (isNew && speaksOfCreation) result.value.effect = Effect.PARTIAL;
}

function checkOutcome(outcome: Outcome, verb: Verb, context: AnswerContext): void {
  const { kind, sentName, secrets } = context;
  name(outcome.externalName, "external_name");
  name(outcome.canonicalId, "canonical_id");
  checkState(outcome.providerState, "provider_state", secrets);
  checkDetails(kind, outcome.connectionDetails);
  checkWarnings(outcome.warnings, secrets);
  if (outcome.externalName !== "" && sentName !== "" && outcome.externalName !== sentName) throw changedName(sentName);
  const { result } = outcome;
  if (result.case === "operation") {
    within("operation", () => {
      checkOperation(result.value, secrets);
      if ((verb === "create" || verb === "update" || verb === "delete") && result.value.verb !== wireVerb[verb]) {
        throw notAllowed("verb", "the operation was begun by another call");
      }
    });
  }
  if (result.case !== "completed") return;
  const { observation } = result.value;
  if (verb === "create" && outcome.externalName === "" && sentName === "") throw missing("external_name", "where a creation is complete");
  if (observation === undefined) return;
  if (verb === "delete") throw notAllowed("completed.observation", "nothing is left to observe after Delete");
  within("completed.observation", () => {
    checkObservation(observation, context);
  });
}

/** What is well formed goes along: names and keys may be given only once. A name that contradicts the one that was sent goes with no answer. */
function salvaged(former: Outcome, verb: Verb, context: AnswerContext, failure: Failure): Outcome {
  const declared = Object.entries(former.connectionDetails).filter(([key]) => context.kind.kind.connectionKeys?.[key] !== undefined);
  const outcome = create(OutcomeSchema, {
    canonicalId: former.canonicalId,
    connectionDetails: Object.fromEntries<Outcome["connectionDetails"][string]>(declared),
    result: { case: "failure", value: failureOf(failure, context.secrets, context.broken) },
  });
  // Each of these goes alone: it must not cost the name.
  if (!holds(name, outcome.canonicalId, "canonical_id")) outcome.canonicalId = "";
  if (!holds(details, outcome.connectionDetails, "connection_details")) outcome.connectionDetails = {};
  for (const externalName of [former.externalName, context.recordedName, ""]) {
    outcome.externalName = externalName;
    if (holds(checkOutcome, outcome, verb, context)) break;
  }
  return outcome;
}

function holds<Of extends unknown[]>(check: (...of: Of) => void, ...of: Of): boolean {
  try {
    check(...of);
    return true;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return false;
  }
}
