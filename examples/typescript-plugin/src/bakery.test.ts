import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { z } from "@crossbridge/sdk";
import { Lab, type TestResource } from "@crossbridge/sdk/testing";

import { Ledger } from "./bakery.js";
import { loaves } from "./loaf.js";
import { bakery } from "./plugin.js";
import { recipes } from "./recipe.js";

const SECRET = "swordfish";

let folder: string;
let lab: Lab;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bakery-"));
  lab = new Lab(() => bakery, { settings: { folder } });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const rye = () => lab.resource(recipes, { title: "Rye bread", flourGrams: 500n }).sensitive("/secretIngredient", SECRET);

test("a recipe is written, changed and removed", async () => {
  const recipe = rye();
  (await recipe.create()).completed();
  (await recipe.set({ title: "Rye bread", flourGrams: 9007199254740993n, steps: ["bake"] }).update()).completed();
  const { parameters, status } = (await recipe.observe()).found();
  assert.deepEqual([parameters.flourGrams, status?.steps], [9007199254740993n, 1]);
  (await recipe.delete()).completed();
  (await recipe.observe()).absent();
});

test("a failed observation is not absence", async () => {
  const recipe = rye();
  (await recipe.create()).completed();
  await rm(join(folder, "recipes"), { recursive: true });
  await writeFile(join(folder, "recipes"), "");
  assert.equal((await recipe.observe()).failure().code, "UNAVAILABLE");
  await rm(folder, { recursive: true });
  assert.equal((await recipe.observe()).failure().code, "INVALID_CONFIG");
});

test("a repeated creation finds what the lost one wrote", async () => {
  for (const thing of [rye(), lab.resource(loaves, { grams: 250, bakeSeconds: 0 })] as TestResource<object, object>[]) {
    const first = (await thing.create()).externalName;
    lab.restart();
    thing.externalName = "";
    await thing.recover();
    assert.equal(thing.externalName, first);
  }
});

test("a loaf is baked by one replica and polled by another", async () => {
  const loaf = lab.resource(loaves, { grams: 250, bakeSeconds: 3 });
  const begun = await loaf.create();
  assert.equal(begun.operation().phase, "Baking");
  (await loaf.via(lab.replica()).follow(begun)).completed();
  assert.ok((await loaf.observe()).found().ready);
});

test("a call that is over has no effect", async () => {
  const shelf = new Ledger(join(folder, "shelf"), z.object({ begun: z.int() }));
  const over = {
    ensureTime() {
      throw new Error("over");
    },
  };
  await assert.rejects(shelf.write(over, "one", 1, { begun: 0 }), /over/);
  assert.deepEqual(await readdir(join(folder, "shelf")), []);
});

test("what is sensitive is in no file", async () => {
  const recipe = rye();
  (await recipe.create()).completed();
  (await recipe.update()).completed();
  (await recipe.delete()).completed();
  const files = await readdir(join(folder, "recipes"));
  assert.equal(files.length, 3);
  for (const file of files) {
    const text = await readFile(join(folder, "recipes", file), "utf8");
    assert.ok(!text.includes(SECRET), text);
  }
});
