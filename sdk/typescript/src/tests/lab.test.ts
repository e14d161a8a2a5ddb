// The lab, with a plugin that keeps notes in a cloud in memory.

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { absent, alreadyDone, completed, Failure, found, handleFormat, type Kind, kind, type PluginDeclaration, underWay, z } from "../index.js";
import { Lab } from "../testing/index.js";

interface Stored {
  text: string;
  marker: string;
}

/** An upstream that gives names, and answers after a while. */
class Cloud {
  readonly notes = new Map<string, Stored>();

  async put(text: string, marker: string): Promise<string> {
    await setTimeout(1);
    const name = `note-${this.notes.size + 1}`;
    this.notes.set(name, { text, marker });
    return name;
  }

  async find(wanted: (note: Stored, name: string) => boolean): Promise<string | undefined> {
    await setTimeout(1);
    return [...this.notes].find(([name, note]) => wanted(note, name))?.[0];
  }

  async read(name: string): Promise<Stored | undefined> {
    return Promise.resolve(this.notes.get(name));
  }

  async remove(name: string): Promise<boolean> {
    return Promise.resolve(this.notes.delete(name));
  }
}

const handles = handleFormat(1, z.object({ name: z.string() }));

/** `forgetful`: a bug, it never looks for what an earlier call created. */
function note(cloud: Cloud, { forgetful = false, slow = false } = {}): Kind<{ text: string }, object> {
  return kind({
    group: "notes.example.org",
    version: "v1",
    kind: "Note",
    parameters: z.object({ text: z.string() }),
    externalName: { source: "upstream", example: "note-1" },
    createRecovery: ["marker"],
    visibleWhenAccepted: true,
    examples: [{ name: "milk", create: { text: "Buy milk." } }],
    async observe(call) {
      const name = call.externalName || (forgetful ? undefined : await cloud.find((note) => call.isOurs(note.marker)));
      const stored = name === undefined ? undefined : await cloud.read(name);
      return name === undefined || stored === undefined
        ? absent()
        : found({ externalName: name, parameters: { text: stored.text }, ready: true, foundMarker: stored.marker });
    },
    async create(call) {
      const earlier = call.outcomeUnknown && !forgetful ? await cloud.find((note) => call.isOurs(note.marker)) : undefined;
      if (earlier !== undefined) return alreadyDone(undefined, { externalName: earlier });
      const name = await cloud.put(call.parameters.text, call.ownershipMarker);
      call.recordName(name);
      return slow ? underWay({ handle: handles.write({ name }), pollAfter: { milliseconds: 1 } }) : completed();
    },
    async update() {
      throw Failure.unsupported("notes are not changed");
    },
    async delete(call) {
      const stored = await cloud.read(call.externalName);
      if (stored === undefined) return alreadyDone();
      call.ensureOwned(stored.marker);
      await cloud.remove(call.externalName);
      return completed();
    },
    async poll(call) {
      const { name } = handles.read(call.handle);
      return (await cloud.read(name)) === undefined
        ? underWay({ handle: call.handle, verb: "create" })
        : completed(undefined, { externalName: name });
    },
  });
}

const plugin = (cloud: Cloud, options = {}): PluginDeclaration => ({ name: "notes.example.org", version: "1.0.0", kinds: [note(cloud, options)] });

describe("lab", () => {
  test("a resource lives and goes", async () => {
    const cloud = new Cloud();
    const lab = new Lab(plugin, { upstream: cloud });
    const milk = lab.resource(note(cloud), { text: "Buy milk." });
    (await milk.observe()).absent();
    (await milk.create()).completed();
    assert.equal((await milk.observe()).found().parameters.text, "Buy milk.");
    (await milk.delete()).completed();
    assert.ok((await milk.delete()).completed().alreadyDone);
  });

  test("a kill anywhere in Create leaves one", async () => {
    const cloud = new Cloud();
    const lab = new Lab(plugin, { upstream: cloud });
    const all: number[] = [];
    await lab.killedInCreate(
      (number) => {
        all.push(number);
        return lab.resource(note(cloud), { text: `Note ${number}` });
      },
      (thing) => [...cloud.notes.values()].filter(({ marker }) => marker === thing.ownershipMarker).length,
    );
    // Before Create, before and after the one call of the upstream, and at the end.
    assert.deepEqual(all, [0, 1, 2, 3]);
  });

  test("a plugin that forgets is found out", async () => {
    const cloud = new Cloud();
    const lab = new Lab((gated: Cloud) => plugin(gated, { forgetful: true }), { upstream: cloud });
    const judged = lab.killedInCreate(
      (number) => lab.resource(note(cloud), { text: `Note ${number}` }),
      (thing) => [...cloud.notes.values()].filter(({ marker }) => marker === thing.ownershipMarker).length,
    );
    await assert.rejects(judged, /one-resource: killed .*, there are [23]/);
  });

  test("a call is cut when something is so, and nothing follows", async () => {
    const cloud = new Cloud();
    const lab = new Lab(plugin, { upstream: cloud });
    const milk = lab.resource(note(cloud), { text: "Buy milk." });
    assert.equal(
      await lab.cutWhen(
        () => cloud.notes.size === 1,
        () => milk.create(),
      ),
      "inside",
    );
    assert.equal(milk.externalName, "", "a call that is cut off teaches nothing");
    await milk.recover();
    assert.equal(milk.externalName, "note-1");
    assert.equal(cloud.notes.size, 1);
  });

  test("another replica follows an operation by its handle", async () => {
    const cloud = new Cloud();
    const lab = new Lab((gated: Cloud) => plugin(gated, { slow: true }), { upstream: cloud });
    const milk = lab.resource(note(cloud), { text: "Buy milk." });
    const begun = await milk.create();
    assert.equal(begun.operation().verb, "create");
    (await milk.via(lab.replica()).follow(begun)).completed();
  });

  test("a file system is an upstream, and a kill between its calls is seen", async () => {
    const folder = await fs.mkdtemp(join(tmpdir(), "lab-"));
    const declared = (files: typeof fs): Kind<{ text: string }, object> =>
      kind({
        group: "files.example.org",
        version: "v1",
        kind: "File",
        parameters: z.object({ text: z.string() }),
        externalName: { source: "user", example: "a.txt" },
        createRecovery: ["name"],
        visibleWhenAccepted: true,
        noUpdate: true,
        errors: { EEXIST: "ALREADY_EXISTS" },
        examples: [{ name: "a", externalName: "a.txt", create: { text: "a" } }],
        async observe(call) {
          const names = await files.readdir(folder);
          return names.includes(call.externalName) ? found({ externalName: call.externalName, parameters: { text: "" }, ready: true }) : absent();
        },
        async create(call) {
          const file = await files.open(join(folder, call.externalName), "wx");
          await file.writeFile(call.parameters.text);
          await file.close();
          return completed();
        },
        async delete(call) {
          await files.rm(join(folder, call.externalName));
          return completed();
        },
      });
    const lab = new Lab((files: typeof fs) => ({ name: "files.example.org", version: "1.0.0", kinds: [declared(files)] }), { upstream: fs });
    const all: string[] = [];
    await lab.killedInCreate(
      (number) => lab.resource(declared(fs), { text: "text" }).named(`${number}.txt`),
      async (thing) => {
        all.push(await fs.readFile(join(folder, thing.externalName), "utf8"));
        return 1;
      },
    );
    // Opened and not written, among others: what the kind's own observation does not see.
    assert.deepEqual(all, ["text", "text", "", "", "text", "text", "text", "text"]);
    await fs.rm(folder, { recursive: true });
  });

  test("a name that is no text is named, and not sent", async () => {
    const cloud = new Cloud();
    const lab = new Lab(
      (gated: Cloud) => {
        const declared = note(gated);
        Object.assign(declared.declaration, { create: async () => completed(undefined, { externalName: 5 as never }) });
        return { ...plugin(gated), kinds: [declared] };
      },
      { upstream: cloud },
    );
    const failure = (await lab.resource(note(cloud), { text: "a" }).create()).failure();
    assert.equal(failure.reason, "InvalidAnswer");
    assert.match(failure.message, /external_name is a value of type number/);
  });

  test("what the wire rejects is rejected here", async () => {
    const cloud = new Cloud();
    const lab = new Lab(plugin, { upstream: cloud });
    const milk = lab.resource(note(cloud), { text: "Buy milk." });
    assert.match((await milk.update()).rejection().message, /target\.external_name/);
    milk.handle = "2:{}";
    assert.match((await milk.poll()).rejection().message, /handle: is of version 2/);
    assert.deepEqual(await lab.checkConfig(), { identity: "" });
  });
});
