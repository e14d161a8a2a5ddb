// The plugin as a process: sockets, signals, errors that no promise carries.

import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, lstat, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { bindSocket } from "../serve/unix-socket.js";
import { Child, createThing } from "./process/child.js";

const LIMIT = { timeout: 60_000 };

let folder: string;
let socket: string;
let children: Child[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "things-"));
  socket = join(folder, "a b.sock");
  children = [];
});
afterEach(async () => {
  for (const { process } of children) process.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

const start = (endpoint?: string): Child => {
  const child = new Child(socket, endpoint);
  children.push(child);
  return child;
};

test("SIGTERM lets a running call end, and the exit code is 0", LIMIT, async () => {
  const child = start();
  await child.says("serving");
  assert.equal((await lstat(socket)).mode & 0o777, 0o600);
  const client = await child.client();
  const running = createThing(client, "waits");
  await child.says("waiting");
  child.process.kill("SIGTERM");
  await child.says("stopping");
  child.process.kill("SIGUSR2");
  assert.equal((await running).outcome?.result.case, "completed");
  assert.equal(await child.end(), 0, child.said);
  await assert.rejects(lstat(socket), { code: "ENOENT" });
  client.close();
});

test("a folder with the setgid bit lets its group connect", LIMIT, async () => {
  await chmod(folder, 0o2770);
  const child = start();
  await child.says("serving");
  assert.equal((await lstat(socket)).mode & 0o777, 0o660);
  child.process.kill("SIGTERM");
  assert.equal(await child.end(), 0, child.said);
});

test("a stale socket is replaced, one in use is not", LIMIT, async () => {
  const killed = start();
  await killed.says("serving");
  killed.process.kill("SIGKILL");
  await once(killed.process, "exit");
  assert.ok((await lstat(socket)).isSocket(), "the file outlives its process");
  const child = start();
  await child.says("serving");
  const second = start();
  assert.equal(await second.end(), 1);
  assert.match(second.said, /another process serves there/);
  (await child.client()).close();
});

test("a file that is no socket is kept", LIMIT, async () => {
  await writeFile(socket, "keep");
  const child = start();
  assert.equal(await child.end(), 1);
  assert.match(child.said, /no socket/);
  assert.equal(await readFile(socket, "utf8"), "keep");
});

test("two processes of one id do not take each other's socket", LIMIT, async () => {
  // Containers that share a folder, and each of whose plugins is process 1.
  const names = new Set<string>();
  for (const name of ["a.sock", "b.sock"]) {
    const server = createServer();
    const file = await bindSocket(join(folder, name), async (path) => {
      names.add(path);
      await once(server.listen(path), "listening");
    });
    assert.ok((await lstat(join(folder, name))).isSocket());
    await file.remove();
    server.close();
  }
  assert.equal(names.size, 2);
  assert.ok([...names].every((name) => !basename(name).startsWith(`.${process.pid}-`)));
});

test("a socket of another server is not taken over", LIMIT, async () => {
  const server = createServer().listen(socket);
  await once(server, "listening");
  const child = start();
  assert.equal(await child.end(), 1);
  server.close();
});

test("an error that no promise carries ends its call only", LIMIT, async () => {
  const child = start();
  await child.says("serving");
  const client = await child.client();
  const running = createThing(client, "waits");
  await child.says("waiting");
  for (const mood of ["throws", "throws-later", "rejects-later"]) {
    const result = (await createThing(client, mood, 20_000)).outcome?.result;
    assert.equal(result?.case === "failure" && result.value.reason, "Internal", mood);
  }
  child.process.kill("SIGUSR2");
  assert.equal((await running).outcome?.result.case, "completed");
  assert.equal((await createThing(client, "good")).outcome?.result.case, "completed");
  assert.match(child.said, /a bug .*type=RangeError at=.*plugin\.js.* declared_at=\S*plugin\.js:\d+/);
  assert.ok(!child.said.includes("swordfish"), child.said);
  client.close();
});

test("an error after the answer is logged by its place", LIMIT, async () => {
  const child = start();
  await child.says("serving");
  const client = await child.client();
  assert.equal((await createThing(client, "throws-after")).outcome?.result.case, "completed");
  await child.says("outside of any running call: RangeError");
  assert.equal((await createThing(client, "good")).outcome?.result.case, "completed");
  assert.ok(!child.said.includes("swordfish"), child.said);
  client.close();
});

test("work that ignores its signal is answered at the deadline", LIMIT, async () => {
  const child = start();
  await child.says("serving");
  const client = await child.client();
  // gRPC's own deadline is later: the answer is on its way until then.
  const metadata = { "crossbridge-deadline-ms": String(Date.now() + 2_000) };
  const result = (await createThing(client, "ignores", 30_000, metadata)).outcome?.result;
  assert.equal(result?.case === "failure" && result.value.reason, "DeadlineExceeded");
  client.close();
});

test("the log has a call's id, trace, kind and owner", LIMIT, async () => {
  const child = start();
  await child.says("serving");
  const client = await child.client();
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await createThing(client, "good", 20_000, { traceparent, "crossbridge-call-id": "call-1" });
  await child.says("completed");
  assert.match(child.said, /completed rpc=Create call_id=call-1 kind=Thing owner=shop\/a external_name=a trace_id=4bf92f3577b34da6a3ce929d0e0e4736/);
  client.close();
});

test("an answer that breaks the contract is logged with its field and where its kind is declared", LIMIT, async () => {
  const child = start();
  await child.says("serving");
  const client = await child.client();
  const result = (await createThing(client, "endless-state")).outcome?.result;
  assert.equal(result?.case === "failure" && result.value.reason, "InvalidAnswer");
  await child.says("breaks the contract");
  assert.match(child.said, /breaks the contract rpc=Create kind=Thing .* field=provider_state declared_at=\S*process\/plugin\.js:\d+/);
  client.close();
});
