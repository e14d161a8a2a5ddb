// What stands around every call: it is answered in form, whatever comes, and the log reports how it ended.

import type { Message } from "@bufbuild/protobuf";
import { type Metadata, type sendUnaryData, status } from "@grpc/grpc-js";

import { Failed, Rejected, text } from "./call.js";
import { Effect, FailureCode } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";

export interface Guarded {
  /** Which call, for the log. */
  said: string;
  work(): Promise<Message>;
  /** Puts a failure into the answer, where there is a place for it. */
  failure?: ((failed: Failed) => Message) | undefined;
  /** What goes well is not logged. */
  quiet?: boolean;
}

export function answer({ said, work, failure, quiet = false }: Guarded, send: sendUnaryData<Message>): void {
  Promise.resolve()
    .then(work)
    .then(
      (done) => {
        if (!quiet) console.error(`${said}: done`);
        send(null, done);
      },
      (error: unknown) => {
        if (error instanceof Rejected) {
          console.error(`${said}: rejected: ${error.message}`);
          send({ code: error.code, details: error.message });
          return;
        }
        const failed = error instanceof Failed ? error : bug();
        console.error(error instanceof Failed ? `${said}: ${failed.failure.reason}` : [`${said}: a bug`, ...places(error)].join("\n"));
        if (failure) send(null, failure(failed));
        else send({ code: status.INTERNAL, details: failed.message });
      },
    );
}

export const callId = (metadata: Metadata): string => text(metadata, "crossbridge-call-id") || "-";

const bug = () =>
  new Failed(FailureCode.INTERNAL, "PluginBug", "The plugin has a bug; its log has the details.", { effect: Effect.UNKNOWN });

/** An error's text may hold anything, secrets too; its kind and the places in its stack do not. */
function places(error: unknown): string[] {
  if (!(error instanceof Error)) return [`    ${typeof error}`];
  return [`    ${error.constructor.name}`, ...(error.stack ?? "").split("\n").filter((line) => /^ {4}at /.test(line))];
}
