// The end: calls that run may end, streams of health and reflection are cut.

import { setTimeout } from "node:timers/promises";

import type { handleUnaryCall, Server, UntypedServiceImplementation } from "@grpc/grpc-js";

/** Calls have deadlines of at most a minute. */
const LONGEST_CALL = 60_000;
/** A call may slip in before its client knows that the plugin stops. */
const CLOSE_GRACE = 2_000;
const TICK = 50;

/** Counts the calls that run. Streams are none: they last as long as their clients want. */
export class Running {
  count = 0;

  /** A service of unary calls, which are counted. */
  of(service: UntypedServiceImplementation): UntypedServiceImplementation {
    const counted =
      (handle: handleUnaryCall<unknown, unknown>): handleUnaryCall<unknown, unknown> =>
      (call, send) => {
        this.count += 1;
        handle(call, (...answer) => {
          this.count -= 1;
          send(...answer);
        });
      };
    const handles = Object.entries(service) as [string, handleUnaryCall<unknown, unknown>][];
    return Object.fromEntries(handles.map(([name, handle]) => [name, counted(handle)]));
  }
}

/** Begins no further call, and waits for those that run. */
export async function drain(server: Server, running: Running): Promise<void> {
  const ended = new Promise<boolean>((resolve) => server.tryShutdown(() => resolve(true)));
  const longest = Date.now() + LONGEST_CALL;
  for (let quiet = 0; quiet < CLOSE_GRACE && Date.now() < longest; quiet = running.count > 0 ? 0 : quiet + TICK) {
    if (await Promise.race([ended, setTimeout(TICK, false)])) return;
  }
  server.forceShutdown();
}
