import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { Ledger } from "./bakery.js";
import { Failed, Rejected } from "./call.js";
import { FailureCode } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";
import { recipes } from "./recipe.js";
import { call, SECRET, DESIRED } from "./testCalls.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bakery-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const isUnavailable = (error: unknown) => error instanceof Failed && error.failure.code === FailureCode.UNAVAILABLE;

test("a failed observation is not absence", async () => {
  const ledger = new Ledger(join(folder, "recipes"));
  assert.deepEqual(await ledger.all(), []);
  await writeFile(join(folder, "recipes"), "");
  await assert.rejects(ledger.all(), isUnavailable);
  await rm(folder, { recursive: true });
  await assert.rejects(ledger.find("recipe-0123456789ab"), isUnavailable);
  const entry = { parameters: DESIRED, marker: "one", begun: 0n, done: 0n };
  await assert.rejects(ledger.write(call(folder), "recipe-0123456789ab", 1, entry), isUnavailable);
});

test("a cancelled call has no effect", async () => {
  await assert.rejects(recipes.create(call(folder, "", AbortSignal.abort()), "", false), Rejected);
  assert.deepEqual(await readdir(join(folder, "recipes")), []);
});

test("what is sensitive is in no file", async () => {
  const { externalName } = await recipes.create(call(folder), "", false);
  await recipes.update(call(folder, externalName), "");
  await recipes.delete(call(folder, externalName), "");
  const files = await readdir(join(folder, "recipes"));
  assert.equal(files.length, 3);
  for (const file of files) {
    const text = await readFile(join(folder, "recipes", file), "utf8");
    assert.ok(!text.includes(SECRET), text);
  }
});
