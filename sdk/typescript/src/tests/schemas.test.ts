// The vectors of types, and what is particular to zod.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { create, type JsonValue, toJson } from "@bufbuild/protobuf";

import { fieldRules } from "../check-kind.js";
import { FieldRuleSchema } from "../contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { kind, readJson, sensitive, stringifyJson, z } from "../index.js";
import type { JsonObject } from "../json.js";
import { checkStructural } from "../schema/check.js";
import { structural } from "../schema/structural.js";
import { writeJson } from "../json.js";
import { normalized } from "./vectors/matches.js";
import { vectorFile } from "./vectors/runner.js";
import { type Field, objectOf, type Types } from "./vectors/types.js";

interface SchemaVector {
  name: string;
  description?: string;
  types?: Types;
  fields: Field[];
  schema: JsonObject;
  fieldRules?: { path: string }[];
}

const rulesOf = (parameters: z.ZodType<object>): JsonValue[] => {
  const { declaration } = kind({
    group: "g.example.org",
    version: "v1",
    kind: "Thing",
    parameters,
    externalName: { source: "user", example: "a" },
    observe: () => Promise.reject(new Error("never asked")),
  });
  return fieldRules(declaration).map((rule) => toJson(FieldRuleSchema, create(FieldRuleSchema, rule)));
};

describe("schemas", () => {
  for (const { name, description, types = {}, fields, schema, fieldRules: rules } of vectorFile("schemas")["schemas"] as SchemaVector[]) {
    test(`schemas.json: ${name}`, () => {
      const type = objectOf(fields, types);
      const described = description === undefined ? type : type.describe(description);
      const derived = structural(described);
      checkStructural(derived, "schema");
      assert.deepEqual(normalized(JSON.parse(writeJson(derived))), normalized(schema));
      const byPath = (list: unknown[]): unknown[] => [...list].sort((a, b) => ((a as { path: string }).path < (b as { path: string }).path ? -1 : 1));
      if (rules !== undefined) assert.deepEqual(byPath(rulesOf(described)), byPath(rules));
    });
  }
});

test("unions of objects become one object with their choice", () => {
  const schema = z.object({
    source: z.union([z.object({ file: z.string() }), z.object({ text: z.string() })]),
    tagged: z.discriminatedUnion("kind", [z.object({ kind: z.literal("One"), a: z.int32() }), z.object({ kind: z.literal("Two"), b: z.string() })]),
    port: z.union([z.string(), z.int()]),
  });
  assert.deepEqual(structural(schema)["properties"], {
    source: {
      type: "object",
      properties: { file: { type: "string" }, text: { type: "string" } },
      oneOf: [{ required: ["file"] }, { required: ["text"] }],
    },
    tagged: {
      type: "object",
      properties: { kind: { type: "string", enum: ["One", "Two"] }, a: { type: "integer", format: "int32" }, b: { type: "string" } },
      required: ["kind"],
    },
    port: { "x-kubernetes-int-or-string": true },
  });
});

test("what a CRD cannot express is rejected by its field", () => {
  const cases: [z.ZodType, RegExp][] = [
    [z.object({ at: z.date() }), /^\/at: /],
    [z.object({ list: z.array(z.object({ f: z.set(z.string()) })) }), /^\/list\/\*\/f: /],
    [z.object({ name: z.string().regex(/^(?!x)/) }), /^\/name: its pattern looks around/],
    [z.object({ a: z.union([z.boolean(), z.string()]) }), /^\/a: a field has one type/],
  ];
  for (const [schema, expected] of cases) assert.throws(() => structural(schema), { message: expected });
});

test("a sensitive field that is required is so for the user alone", () => {
  const schema = z.object({ name: z.string(), password: sensitive(z.string()) });
  assert.deepEqual(structural(schema)["required"], ["name", "password"]);
  assert.ok(schema.safeParse({ name: "a" }).success);
});

test("an annotation means nothing where else the schema is used", () => {
  const name = z.string().describe("A name.");
  const schema = z.object({ one: sensitive(name), other: name });
  assert.deepEqual(rulesOf(schema), [{ path: "/one", sensitive: true }]);
});

test("JSON text is read and written without loss", () => {
  const Size = z.object({ size: z.int64(), ratio: z.number(), small: z.int64() });
  const text = '{"size":9007199254740993,"ratio":0.5,"small":1}';
  assert.deepEqual(readJson(Size, text), { size: 9007199254740993n, ratio: 0.5, small: 1n });
  assert.equal(stringifyJson(readJson(Size, text)), text);
  assert.throws(
    () => readJson(Size, '{"size": "secret-word"}'),
    (error: Error) => error instanceof SyntaxError && !error.message.includes("secret-word"),
  );
});
