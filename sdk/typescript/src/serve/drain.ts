// The end: calls that run may end, streams of health and reflection are cut.

import { setTimeout } from "node:timers/promises";

import type { Server } from "@grpc/grpc-js";

/** Calls have deadlines of at most a minute. */
const LONGEST_CALL = 60_000;
/** A call may slip in before its client knows that the plugin stops. */
const CLOSE_GRACE = 2_000;
const TICK = 50;

/** Counts the calls that run. Streams are none: they last as long as their clients want. */
export class Running {
  #count = 0;

  get isIdle(): boolean {
    return this.#count === 0;
  }

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
  }
}

/** Begins no further call, and waits for those that run. */
export async function drain(server: Server, running: Running): Promise<void> {
  const ended = new Promise<boolean>((resolve) => {
    server.tryShutdown(() => {
      resolve(true);
    });
  });
  const longest = Date.now() + LONGEST_CALL;
  for (let quiet = 0; quiet < CLOSE_GRACE && Date.now() < longest; quiet = running.isIdle ? quiet + TICK : 0) {
    if (await Promise.race([ended, setTimeout(TICK, false)])) return;
  }
  server.forceShutdown();
}
