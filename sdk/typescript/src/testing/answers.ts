// What came of a call, and what a test expects of it.

import { type Failure as WireFailure, Effect as WireEffect } from "../contract/crossbridge/provider/v1alpha1/failure_pb.js";
import { type Observation as WireObservation, Tristate } from "../contract/crossbridge/provider/v1alpha1/observation_pb.js";
import { type Operation as WireOperation, OperationVerb as WireVerb } from "../contract/crossbridge/provider/v1alpha1/operation_pb.js";
import type { Outcome as WireOutcome } from "../contract/crossbridge/provider/v1alpha1/outcome_pb.js";
import type { ObserveResponse } from "../contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import type { OperationVerb } from "../answer.js";
import { wireMilliseconds } from "../duration.js";
import { type Effect, type FailureCode, failureCodes, type FieldViolation, type Rejection, wireCode } from "../failure.js";
import { status } from "@grpc/grpc-js";
import type { Document } from "../contract/crossbridge/provider/v1alpha1/target_pb.js";

/** Why a call did not work, as it leaves the plugin. */
export interface FailureAnswer {
  code: FailureCode;
  effect: Effect;
  reason: string;
  message: string;
  violations: FieldViolation[];
  existingExternalName: string;
}

/** An operation, as it leaves the plugin. */
export interface OperationAnswer {
  handle: string;
  verb: OperationVerb;
  /** Milliseconds; undefined: the bridge's choice. */
  pollAfter: number | undefined;
  progress: number | undefined;
  phase: string;
}

/** An external resource as it was observed; its documents are the kind's types. */
export interface FoundAnswer<P, S> {
  externalName: string;
  parameters: P;
  status: S | undefined;
  ready: boolean;
  readyMessage: string;
  foundMarker: string;
  etag: string;
  deleting: boolean;
  /** Where the plugin compares. */
  upToDate: boolean | undefined;
  connectionDetails: Record<string, string>;
}

/** Reads a document as one of the kind's types. */
export type ReadDocument = (document: Document, what: "parameters" | "status") => unknown;

const EFFECTS: Record<WireEffect, Effect> = {
  [WireEffect.UNSPECIFIED]: "unknown",
  [WireEffect.NONE]: "none",
  [WireEffect.PARTIAL]: "partial",
  [WireEffect.UNKNOWN]: "unknown",
};
const VERBS: Partial<Record<WireVerb, OperationVerb>> = { [WireVerb.CREATE]: "create", [WireVerb.UPDATE]: "update", [WireVerb.DELETE]: "delete" };

export function failureAnswer({ code, effect, reason, message, violations, existingExternalName }: WireFailure): FailureAnswer {
  return {
    code: failureCodes.find((name) => wireCode(name) === code) ?? "INTERNAL",
    effect: EFFECTS[effect],
    reason,
    message,
    violations: violations.map((violation) => ({ path: violation.path, message: violation.message })),
    existingExternalName,
  };
}

const operationAnswer = ({ handle, verb, pollAfter, progressPercent, phase }: WireOperation): OperationAnswer => ({
  handle,
  verb: VERBS[verb] ?? "create",
  pollAfter: pollAfter && wireMilliseconds(pollAfter),
  progress: progressPercent,
  phase,
});

const textOf = (details: Record<string, Uint8Array>): Record<string, string> =>
  Object.fromEntries(Object.entries(details).map(([key, value]) => [key, Buffer.from(value).toString()]));

function foundAnswer<P, S>(observation: WireObservation, read: ReadDocument): FoundAnswer<P, S> {
  const { parameters, status, upToDate } = observation;
  return {
    externalName: observation.externalName,
    parameters: (parameters === undefined ? {} : read(parameters, "parameters")) as P,
    status: (status === undefined ? undefined : read(status, "status")) as S | undefined,
    ready: observation.ready,
    readyMessage: observation.readyMessage,
    foundMarker: observation.foundMarker,
    etag: observation.etag,
    deleting: observation.deleting,
    upToDate: upToDate === Tristate.UNSPECIFIED ? undefined : upToDate === Tristate.TRUE,
    connectionDetails: textOf(observation.connectionDetails),
  };
}

const unexpected = (wanted: string, got: string): Error => new Error(`${wanted}: ${got}`);

/** Of an answer, for messages: no document and no connection detail. */
function summary(answer: WireOutcome | ObserveResponse | Rejection): string {
  if (answer instanceof Error) return `the call was not processed: ${status[answer.status]}: ${answer.message}`;
  const { result } = answer;
  if (result.case === "failure") {
    const { code, effect, reason, message } = failureAnswer(result.value);
    return `${code} (${reason}, effect ${effect}): ${message}`;
  }
  return result.case === "operation" ? `an operation, ${result.value.handle}` : String(result.case);
}

/** The answer to a call that changes something, or to a poll: the body, or the status of a call that was not processed. */
export class Answer<P, S> {
  constructor(
    private readonly answer: WireOutcome | Rejection,
    private readonly read: ReadDocument,
  ) {}

  private get result(): WireOutcome["result"] {
    return this.answer instanceof Error ? { case: undefined } : this.answer.result;
  }

  /** The name that the answer reports; empty: none. */
  get externalName(): string {
    return this.answer instanceof Error ? "" : this.answer.externalName;
  }

  get connectionDetails(): Record<string, string> {
    return this.answer instanceof Error ? {} : textOf(this.answer.connectionDetails);
  }

  /** Why the call failed; undefined: it did not, or was not processed. */
  get failureCode(): FailureCode | undefined {
    return this.result.case === "failure" ? failureAnswer(this.result.value).code : undefined;
  }

  /** It goes on; `operation` has how. */
  get isOperation(): boolean {
    return this.result.case === "operation";
  }

  /**
   * It is finished.
   *
   * @throws Error with what was answered instead; so do the others
   */
  completed(): { alreadyDone: boolean; observation: FoundAnswer<P, S> | undefined } {
    const { result } = this;
    if (result.case !== "completed") throw unexpected("not completed", summary(this.answer));
    const { observation, alreadyDone } = result.value;
    return { alreadyDone, observation: observation && foundAnswer(observation, this.read) };
  }

  /** The operation that was begun, or goes on. */
  operation(): OperationAnswer {
    const { result } = this;
    if (result.case !== "operation") throw unexpected("no operation", summary(this.answer));
    return operationAnswer(result.value);
  }

  /** The upstream, or the plugin on its behalf, failed the call. */
  failure(): FailureAnswer {
    const { result } = this;
    if (result.case !== "failure") throw unexpected("no failure", summary(this.answer));
    return failureAnswer(result.value);
  }

  /** The call was not processed: a mistake of its caller's. */
  rejection(): Rejection {
    if (!(this.answer instanceof Error)) throw unexpected("the call was processed", summary(this.answer));
    return this.answer;
  }
}

/** The answer to an Observe. */
export class ObserveAnswer<P, S> {
  constructor(
    private readonly answer: ObserveResponse | Rejection,
    private readonly read: ReadDocument,
  ) {}

  private get result(): ObserveResponse["result"] {
    return this.answer instanceof Error ? { case: undefined } : this.answer.result;
  }

  get isFound(): boolean {
    return this.result.case === "observation";
  }

  /**
   * It exists.
   *
   * @throws Error with what was answered instead; so do the others
   */
  found(): FoundAnswer<P, S> {
    const { result } = this;
    if (result.case !== "observation") throw unexpected("not found", summary(this.answer));
    return foundAnswer(result.value, this.read);
  }

  /** The upstream reports that there is no such resource. The name that it would have, where names are derived. */
  absent(): string {
    const { result } = this;
    if (result.case !== "absent") throw unexpected("not absent", summary(this.answer));
    return result.value.externalName;
  }

  /** The upstream could not be read. */
  failure(): FailureAnswer {
    const { result } = this;
    if (result.case !== "failure") throw unexpected("no failure", summary(this.answer));
    return failureAnswer(result.value);
  }

  /** The call was not processed: a mistake of its caller's. */
  rejection(): Rejection {
    if (!(this.answer instanceof Error)) throw unexpected("the call was processed", summary(this.answer));
    return this.answer;
  }
}
