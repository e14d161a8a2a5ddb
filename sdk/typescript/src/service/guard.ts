// Author's code under guard: a permit, a deadline, and errors kept to the call.

import { AsyncLocalStorage } from "node:async_hooks";

import { status } from "@grpc/grpc-js";

import type { Deadline } from "../deadline.js";
import { Failure, Rejection } from "../failure.js";

/** Permits for so many calls at once; the others wait in turn. */
export class Permits {
  readonly #waiting: (() => void)[] = [];

  constructor(private free: number) {}

  /** Resolves with a permit to be released once, or with undefined when the signal is aborted first. */
  async acquire(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.free > 0) this.free -= 1;
    else {
      const isMine = await new Promise<boolean>((resolve) => {
        const turn = (): void => {
          signal.removeEventListener("abort", leave);
          resolve(true);
        };
        const leave = (): void => {
          this.#waiting.splice(this.#waiting.indexOf(turn), 1);
          resolve(false);
        };
        signal.addEventListener("abort", leave, { once: true });
        this.#waiting.push(turn);
      });
      if (!isMine) return undefined;
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const next = this.#waiting.shift();
      if (next === undefined) this.free += 1;
      else next();
    };
  }
}

/** The call whose code runs, for errors that no promise of it carries. */
export const runningCall = new AsyncLocalStorage<{ isOver: boolean; fail: (error: unknown) => void }>();

/**
 * Waits for a permit, then works until the deadline. At the deadline, and when the caller goes away, the signal is aborted and the call is over, whatever
 * its code still does.
 *
 * @throws what the work throws; Failure TIMEOUT; Rejection
 */
export async function guarded<T>(
  permits: Permits,
  deadline: Deadline,
  cancelled: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  const running: { isOver: boolean; fail: (error: unknown) => void } = { isOver: false, fail: () => undefined };
  const over = new Promise<never>((_, reject) => (running.fail = reject));
  // Only a race looks at it.
  over.catch(() => undefined);
  const end = (error: Error, name: string): void => {
    // The reason first: what the abortion makes of the work comes later.
    running.fail(error);
    controller.abort(new DOMException(error.message, name));
  };
  const cancel = (): void => {
    end(new Rejection(status.CANCELLED, "the caller has gone away"), "AbortError");
  };
  const timer = setTimeout(() => {
    end(Failure.timeout("the call's deadline passed before the work was done", { reason: "DeadlineExceeded" }), "TimeoutError");
  }, deadline.remaining);
  cancelled.addEventListener("abort", cancel, { once: true });
  if (cancelled.aborted) cancel();
  const release = await permits.acquire(signal);
  try {
    // A process that was stopped meanwhile finds the timer late: check again.
    if (release === undefined || deadline.hasPassed) {
      if (cancelled.aborted) throw new Rejection(status.CANCELLED, "the caller has gone away: nothing was done");
      throw new Rejection(status.FAILED_PRECONDITION, "the deadline passed before the call could begin: nothing was done");
    }
    // An error that is thrown at once is one of the work, too.
    const begun = runningCall.run(running, async () => work(signal));
    return await Promise.race([begun, over]);
  } finally {
    running.isOver = true;
    release?.();
    clearTimeout(timer);
    cancelled.removeEventListener("abort", cancel);
  }
}
