import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { create, type Message } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";

import { Failed, Rejected } from "./call.js";
import { FailureCode } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";
import { CheckConfigResponseSchema } from "./contract/crossbridge/provider/v1alpha1/plugin_service_pb.js";
import { answer, type Guarded } from "./guard.js";
import { SECRET } from "./testCalls.js";

const good = create(CheckConfigResponseSchema, { identity: "one" });
const failure = ({ failure }: Failed): Message => create(CheckConfigResponseSchema, { failure });

/** What the client and the log are reported of a call. */
async function run(work: Guarded["work"], more: Partial<Guarded> = { failure }): Promise<{ answer: string; log: string }> {
  const log = mock.method(console, "error", () => {});
  try {
    const answered = await new Promise((resolve) => answer({ said: "a call", work, ...more }, (...sent) => resolve(sent)));
    return { answer: JSON.stringify(answered), log: log.mock.calls.map(({ arguments: [line] }) => line).join("\n") };
  } finally {
    log.mock.restore();
  }
}

test("the log reports how a call ended", async () => {
  const endings: [string, Guarded["work"]][] = [
    ["a call: done", async () => good],
    ["a call: NoBakery", () => Promise.reject(new Failed(FailureCode.INVALID_CONFIG, "NoBakery", "It is not there."))],
    ["a call: rejected: no", () => Promise.reject(new Rejected("no"))],
  ];
  for (const [expected, work] of endings) assert.equal((await run(work)).log, expected);
  assert.equal((await run(async () => good, { quiet: true })).log, "");
});

test("a bug is logged with its place and without secrets", async () => {
  const fails = async () => {
    throw new TypeError(`${SECRET}\n${SECRET}`);
  };
  const inForm = await run(fails);
  const asStatus = await run(fails, {});
  assert.match(inForm.answer, /"reason":"PluginBug"/);
  assert.match(asStatus.answer, new RegExp(`"code":${status.INTERNAL},`));
  for (const { answer, log } of [inForm, asStatus]) {
    assert.match(log, /^a call: a bug\n {4}TypeError\n {4}at .*guard\.test\.js:\d+/);
    assert.ok(!(answer + log).includes(SECRET), answer + log);
  }
});
