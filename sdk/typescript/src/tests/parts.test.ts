// Parts that the vectors cannot see.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { inspect } from "node:util";

import { Config } from "../config.js";
import { Deadline } from "../deadline.js";
import { asFailure, Bug } from "../errors.js";
import { cachedByConfig, Failure, failureOfResponse, handleFormat, InvalidArgument, z } from "../index.js";
import { holdsSecret, scrubbed, Secrets } from "../secrets.js";
import { parseEndpoint } from "../serve/endpoint.js";
import { Permits } from "../service/guard.js";
import { traceOf } from "../service/metadata.js";

test("endpoints are read as they are written", () => {
  assert.deepEqual(parseEndpoint("unix:///run/a b%20.sock"), { path: "/run/a b%20.sock" });
  assert.deepEqual(parseEndpoint("https://host:443"), { address: "host:443", tls: true });
  assert.deepEqual(parseEndpoint("http://127.0.0.1:80/"), { address: "127.0.0.1:80", tls: false });
  assert.deepEqual(parseEndpoint("http://[::1]:9000"), { address: "[::1]:9000", tls: false });
  for (const endpoint of ["", "http://10.0.0.1:80", "https://host", "http://127.0.0.1:80/path", "unix:///"])
    assert.throws(() => parseEndpoint(endpoint), endpoint);
});

test("a deadline has passed by whichever clock is further", () => {
  const deadline = Deadline.after(10_000);
  assert.ok(deadline.remaining > 9_000);
  mock.timers.enable({ apis: ["Date"], now: Date.now() + 11_000 });
  assert.ok(deadline.hasPassed);
  mock.timers.reset();
  assert.ok(!deadline.hasPassed);
});

test("a malformed trace is passed over", () => {
  assert.equal(traceOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")?.parentSpanId, "00f067aa0ba902b7");
  for (const bad of [
    undefined,
    "",
    "00-0-0-0",
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
  ]) {
    assert.equal(traceOf(bad), undefined);
  }
});

test("a handle of this and of a former version is read", () => {
  const handles = handleFormat(2, z.object({ name: z.string(), region: z.string() }), {
    former: { 1: (object) => ({ name: z.string().parse(object["name"]), region: "north" }) },
  });
  const text = handles.write({ region: "south", name: "a" });
  assert.equal(text, '2:{"name":"a","region":"south"}');
  assert.deepEqual(handles.read(text), { name: "a", region: "south" });
  assert.deepEqual(handles.read('1:{"name":"a"}'), { name: "a", region: "north" });
  for (const foreign of ["", "a", "2:{}", "2:[]", '3:{"name":"a"}', "2:{"]) assert.throws(() => handles.read(foreign), InvalidArgument);
  assert.throws(() => handles.write({ name: "x".repeat(5_000), region: "" }), RangeError);
});

test("HTTP answers become failures", () => {
  const failure = (status: number, headers = {}): Failure => failureOfResponse({ status, headers: new Headers(headers) }, "no");
  assert.equal(failure(401).code, "UNAUTHENTICATED");
  assert.equal(failure(503).code, "UNAVAILABLE");
  assert.equal(failure(404).code, "INTERNAL", "only the author knows whether it is absence");
  assert.deepEqual(failure(429, { "retry-after": "7" }).retryAfter, { seconds: 7 });
  assert.ok(failure(429).retryAfter, "the contract wants it");
});

test("errors become failures by the table, then by what Node.js reports", () => {
  const error = (name: string, code?: string): Error => Object.assign(new Error("swordfish"), { name }, code === undefined ? {} : { code });
  const table = { NoSuchBucket: "NOT_FOUND", SlowDown: () => Failure.throttled({ seconds: 1 }, "slow down") } as const;
  const code = (thrown: unknown): string => {
    const failure = asFailure(thrown, table);
    return failure instanceof Failure ? failure.code : failure.constructor.name;
  };
  assert.equal(code(error("NoSuchBucket")), "NOT_FOUND");
  assert.equal(code(error("SlowDown")), "THROTTLED");
  assert.equal(code(error("Error", "ECONNRESET")), "UNAVAILABLE");
  assert.equal(code(new TypeError("fetch failed", { cause: error("Error", "ENOTFOUND") })), "UNAVAILABLE");
  assert.equal(code(error("TimeoutError")), "TIMEOUT");
  assert.ok(asFailure("a text", table) instanceof Bug);
  const bug = asFailure(error("Odd"), table);
  assert.ok(bug instanceof Bug && !bug.failure.message.includes("swordfish") && !bug.places.join().includes("swordfish"));
});

test("secrets are found as they are and encoded", () => {
  const secret = 'sesame "open"';
  for (const text of [
    secret,
    JSON.stringify(secret),
    encodeURIComponent(secret),
    Buffer.from(`x${secret}y`).toString("base64"),
    Buffer.from(secret).toString("hex"),
  ]) {
    assert.ok(holdsSecret(`<${text}>`, [secret]), text);
    assert.ok(!holdsSecret(scrubbed(`<${text}>`, [secret]), [secret]), text);
  }
  assert.ok(!holdsSecret("sesame", [secret]));
});

test("no credential is printed, and a client is kept until its config changes", () => {
  const config = (revision: string): Config => new Config("one", revision, {}, new Secrets([["key", Buffer.from("swordfish")]]), undefined);
  assert.ok(!inspect(config("1"), { showHidden: true, depth: null }).includes("swordfish"));
  assert.ok(!JSON.stringify(config("1")).includes("swordfish"));
  let created = 0;
  const client = cachedByConfig(() => (created += 1));
  assert.deepEqual([client(config("1")), client(config("1")), client(config("2")), client(config("2"))], [1, 1, 2, 2]);
});

test("permits go to those who wait, in turn, and not to those who left", async () => {
  const permits = new Permits(1);
  const forever = new AbortController().signal;
  const release = await permits.acquire(forever);
  const leaving = new AbortController();
  const left = permits.acquire(leaving.signal);
  const next = permits.acquire(forever);
  leaving.abort();
  assert.equal(await left, undefined);
  release?.();
  release?.();
  const second = await next;
  assert.ok(second);
  second();
  assert.ok(await permits.acquire(forever));
});
