// What a call's metadata holds: its deadline, its id, its trace.

import { status } from "@grpc/grpc-js";

import type { Trace } from "../call.js";
import { Deadline } from "../deadline.js";
import { Rejection } from "../failure.js";

/** Longest call that changes something; longer ones are operations. In milliseconds, as all here. */
const CALL_LIMIT = 60_000;
/** gRPC's deadline is reckoned anew at each hop: one of 60 s may be read as a little more. */
const CLOCK_STEP = 50;
/** Kept back of each deadline at most, for the answer's way. */
const ANSWER_RESERVE = 200;

/** A call as it arrives. */
export interface Arrival {
  /** Until gRPC's own deadline, in milliseconds; undefined: it has none. */
  timeout: number | undefined;
  metadata(key: string): string | undefined;
  /** Aborted when the caller goes away. */
  cancelled: AbortSignal;
}

/** What the metadata of a call holds. */
export class CallMetadata {
  #deadline: Deadline | undefined;

  private constructor(
    private readonly timeout: number | undefined,
    private readonly absolute: number | undefined,
    readonly callId: string,
    readonly trace: Trace | undefined,
  ) {}

  /** @throws Rejection INVALID_ARGUMENT for a deadline that cannot be read; other malformed metadata is passed over */
  static read(arrival: Arrival): CallMetadata {
    const absolute = arrival.metadata("crossbridge-deadline-ms");
    if (absolute !== undefined && !/^\d{1,19}$/.test(absolute)) {
      throw new Rejection(status.INVALID_ARGUMENT, "the metadata crossbridge-deadline-ms is malformed: it must be Unix milliseconds");
    }
    return new CallMetadata(
      arrival.timeout,
      absolute === undefined ? undefined : Number(absolute),
      arrival.metadata("crossbridge-call-id") ?? "",
      traceOf(arrival.metadata("traceparent")),
    );
  }

  /** Until when a call may work: one that changes something needs a deadline of at most 60 s; any other has 60 s at most. */
  deadline(changes: boolean): Deadline {
    return (this.#deadline ??= this.reckoned(changes));
  }

  private reckoned(changes: boolean): Deadline {
    const rejected = (why: string): Rejection => new Rejection(status.FAILED_PRECONDITION, why);
    if (changes && this.timeout === undefined) throw rejected("a call that changes something needs a deadline of at most 60 s");
    if (changes && (this.timeout ?? 0) > CALL_LIMIT + CLOCK_STEP)
      throw rejected("the deadline is more than 60 s ahead: what takes longer is an operation");
    const left = Math.min(this.timeout ?? CALL_LIMIT, CALL_LIMIT, (this.absolute ?? Infinity) - Date.now());
    if (left <= 0) throw rejected("the call's deadline has passed: nothing was done");
    return Deadline.after(left - Math.min(ANSWER_RESERVE, left / 20));
  }
}

/** W3C: version, trace id, parent id, flags. */
export function traceOf(traceparent: string | undefined): Trace | undefined {
  const [, version, traceId, parentSpanId] = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/.exec(traceparent ?? "") ?? [];
  if (traceparent === undefined || traceId === undefined || parentSpanId === undefined) return undefined;
  if (version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(parentSpanId)) return undefined;
  return { traceId, parentSpanId, traceparent };
}
