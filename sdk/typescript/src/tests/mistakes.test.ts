// The vectors of mistakes in an author's declarations.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { completed, DeclarationError, kind, type KindDeclaration, type PluginDeclaration, serve, z } from "../index.js";
import { vectorFile } from "./vectors/runner.js";

type Widget = KindDeclaration<z.ZodType<object>, z.ZodType<object>, z.ZodType<object>>;

const Parameters = z.object({ size: z.int64().optional() });

const WIDGET: Widget = {
  group: "vectors.example.org",
  version: "v1",
  kind: "Widget",
  parameters: Parameters,
  externalName: { source: "user", example: "a-widget", pattern: "[a-z][a-z0-9-]*", maxLength: 20 },
  createRecovery: ["name"],
  examples: [{ name: "plain", externalName: "a-widget", create: { size: 1n } }],
  observe: () => Promise.reject(new Error("never asked")),
  create: async () => completed(),
  update: async () => completed(),
  delete: async () => completed(),
};

const plugin = (...kinds: object[]): PluginDeclaration => ({
  name: "vectors.example.org",
  version: "1.0.0",
  kinds: kinds.map((declaration) => kind(declaration as Widget)),
});

const widget = (change: object): PluginDeclaration => plugin({ ...WIDGET, ...change });
const example = (change: object): PluginDeclaration => widget({ examples: [{ ...WIDGET.examples?.[0], ...change }] });

const Tree: z.ZodObject = z.object({
  get children(): z.ZodType {
    return z.array(Tree);
  },
});

const MISTAKES: Record<string, () => PluginDeclaration> = {
  none: () => widget({}),
  "duplicate kind": () => plugin(WIDGET, WIDGET),
  "no example": () => widget({ examples: [] }),
  "example of another type": () => example({ name: "odd", create: { size: "big" } }),
  "example with a bad name": () => example({ externalName: "A1" }),
  "example with a long name": () => example({ externalName: "abcdefghijklmnopqrstu" }),
  "example that requires what is not there": () => example({ requires: ["Gadget/plain"] }),
  "two examples of one name": () => widget({ examples: [WIDGET.examples?.[0], WIDGET.examples?.[0]] }),
  "example of the name rules": () => widget({ externalName: { ...WIDGET.externalName, example: "A1" } }),
  "bad plural": () => widget({ plural: "Widgets" }),
  "bad group": () => widget({ group: "Vectors!" }),
  "bad kind": () => widget({ kind: "a widget" }),
  "rule of no field": () => widget({ fields: { "/secret": { sensitive: true } } }),
  "no recovery": () => widget({ createRecovery: [] }),
  "recovery by name of a name that the upstream gives": () => widget({ externalName: { ...WIDGET.externalName, source: "upstream" } }),
  "bad pattern": () => widget({ externalName: { ...WIDGET.externalName, pattern: "[" } }),
  "long call timeout": () => widget({ timeouts: { call: { seconds: 61 } } }),
  "bad connection key": () => widget({ connectionKeys: { "pass word": {} } }),
  "bad printer column": () => widget({ printerColumns: [{ name: "SIZE", type: "text", jsonPath: ".spec.forProvider.size" }] }),
  "parameters that are no object": () => widget({ parameters: z.string() }),
  "status that is no object": () => widget({ status: z.string() }),
  "parameters that contain themselves": () => widget({ parameters: Tree }),
  "a field of several types": () => widget({ parameters: z.object({ port: z.union([z.number(), z.string()]) }) }),
  "missing method": () => widget({ delete: undefined }),
  "missing poll": () => widget({ kind: "Job", asynchronous: true }),
  "missing list": () => widget({ listFilter: z.object({}) }),
  "bad plugin name": () => ({ ...widget({}), name: "Vectors" }),
  "bad plugin version": () => ({ ...widget({}), version: "one" }),
  "bad limit of calls": () => ({ ...widget({}), maxConcurrentCalls: 0 }),
  "settings that are no object": () => ({ ...widget({}), settings: z.string() as never }),
  "no kinds": () => plugin(),
};

/** What cannot be written in this language, and why. */
const SKIPPED: Record<string, string> = { "connection key twice": "they are the members of an object, which has each once" };

describe("mistakes", () => {
  const all = vectorFile("mistakes")["mistakes"] as { name: string; mentions: string[] }[];
  test("each vector is run or skipped, and no other", () => {
    assert.deepEqual([...Object.keys(MISTAKES), ...Object.keys(SKIPPED)].sort(), all.map(({ name }) => name).sort());
  });
  for (const { name, mentions } of all) {
    const mistake = MISTAKES[name];
    const options = name in SKIPPED ? { skip: SKIPPED[name] ?? true } : {};
    test(`mistakes.json: ${name}`, options, async () => {
      assert.ok(mistake);
      const served = serve(mistake(), { endpoint: "nonsense", signal: AbortSignal.abort() });
      await assert.rejects(served, (error: Error) => {
        // What has no mistake comes as far as its endpoint.
        assert.equal(error instanceof DeclarationError, name !== "none", error.stack);
        for (const text of mentions) assert.ok(error.message.toLowerCase().includes(text.toLowerCase()), error.message);
        return true;
      });
    });
  }
});

test("a mistake names the file and the line of the declaration", async () => {
  const declared = (declaration: PluginDeclaration) => serve(declaration, { endpoint: "nonsense", signal: AbortSignal.abort() });
  await assert.rejects(declared(widget({ plural: "Widgets" })), /kind Widget \(.*mistakes\.test\.js:\d+\): plural is malformed/);
  const twice = /kind Widget\S* is registered twice: at \S*mistakes\.test\.js:\d+, and at \S*mistakes\.test\.js:\d+/;
  await assert.rejects(declared(plugin(WIDGET, WIDGET)), twice);
});
