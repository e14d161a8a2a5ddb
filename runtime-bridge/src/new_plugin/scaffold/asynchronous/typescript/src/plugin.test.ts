import assert from "node:assert/strict";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Lab } from "@crossbridge/sdk/testing";

import { files, plugin } from "./plugin.js";

const folder = await mkdtemp(join(tmpdir(), "__NAME__-"));
const lab = new Lab(() => plugin, { settings: { folder } });

test("a file is prepared and goes", async () => {
  const notes = lab.resource(files, { content: "Buy milk." }).named("notes.txt");
  (await notes.observe()).absent();
  const preparing = await notes.create();
  assert.match(preparing.operation().handle, /notes.txt/);
  lab.restart();
  (await notes.follow(preparing)).completed();
  assert.equal((await notes.observe()).found().ready, true);
  notes.set({ content: "Tea." });
  (await notes.update()).completed();
  assert.equal((await notes.observe()).found().parameters.content, "Tea.");
  assert.equal((await notes.delete()).completed().alreadyDone, false);
  assert.equal((await notes.delete()).completed().alreadyDone, true);
});

test("an existing file is not overwritten", async () => {
  await writeFile(join(folder, "mine.txt"), "Mine.");
  const second = lab.resource(files, { content: "Mine too." }).named("mine.txt");
  assert.equal((await second.create()).failure().code, "ALREADY_EXISTS");
  assert.equal(await readFile(join(folder, "mine.txt"), "utf8"), "Mine.");
});
