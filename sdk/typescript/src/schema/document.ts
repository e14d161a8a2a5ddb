// Documents by zod schemas: read into the author's type, written from it.

import type { z } from "zod";

import type { FieldViolation } from "../failure.js";
import { isObject, type Json, type JsonObject, parseJson, toJson, writeJson } from "../json.js";
import { pointerOf } from "../pointer.js";
import { nodeOf } from "./node.js";

type Schema = z.core.$ZodType;

/** A document that the schema reads, or what is wrong with it. */
export type Read<T> = { value: T; problems?: never } | { value?: never; problems: FieldViolation[] };

/** Reads a document by its schema; `types`: what is of the right type and beyond a limit is no problem. */
export function read<S extends z.ZodType>(schema: S, document: JsonObject, what: "all" | "types" = "all"): Read<z.output<S>> {
  const result = schema.safeParse(adapted(schema, document));
  if (result.success) return { value: result.data };
  const issues = result.error.issues.filter(({ code }) => what === "all" || code === "invalid_type");
  if (issues.length === 0) return { value: document as z.output<S> };
  // A message of zod names types and limits, and quotes no value.
  return { problems: issues.map(({ path, message }) => ({ path: pointerOf(path), message })) };
}

/** Numbers as the schema wants them: a bigint where it says so, also for what a number could hold; a number elsewhere. */
function adapted(schema: Schema, value: Json): unknown {
  const node = nodeOf(schema);
  switch (node.type) {
    case "wrapper":
      return node.inner.length === 1 && node.inner[0] !== undefined ? adapted(node.inner[0], value) : adaptedToOption(node.inner, value);
    case "array":
      return Array.isArray(value) ? value.map((item) => adapted(node.item, item)) : value;
    case "record":
      return isObject(value) ? mapped(value, (member) => adapted(node.value, member)) : value;
    case "object":
      return isObject(value)
        ? mapped(value, (member, name) => {
            const field = Object.hasOwn(node.shape, name) ? node.shape[name] : node.rest;
            return field === undefined ? member : adapted(field, member);
          })
        : value;
    case "leaf":
      if (node.leaf === "bigint" && typeof value === "number" && Number.isInteger(value)) return BigInt(value);
      return node.leaf === "number" && typeof value === "bigint" ? Number(value) : value;
  }
}

/** Of a union's options the first that reads the value. */
function adaptedToOption(options: readonly Schema[], value: Json): unknown {
  const attempts = options.map((option) => adapted(option, value));
  const index = options.findIndex((option, number) => (option as z.ZodType).safeParse(attempts[number]).success);
  return attempts[Math.max(index, 0)];
}

const mapped = (object: JsonObject, change: (member: Json, name: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).map(([name, member]) => [name, change(member, name)]));

/**
 * Writes what the author's code returned: only fields that the schema names, and none that is null or undefined.
 *
 * @throws NotJson
 */
export function write(schema: Schema, value: unknown): JsonObject | undefined {
  const json = pruned(schema, toJson(value));
  return isObject(json) ? json : undefined;
}

function pruned(schema: Schema, value: Json): Json {
  const node = nodeOf(schema);
  switch (node.type) {
    case "wrapper":
      return node.inner.length === 1 && node.inner[0] !== undefined ? pruned(node.inner[0], value) : value;
    case "array":
      return Array.isArray(value) ? value.map((item) => pruned(node.item, item)) : value;
    case "record":
      return isObject(value) ? (mapped(value, (member) => pruned(node.value, member)) as JsonObject) : value;
    case "object": {
      if (!isObject(value)) return value;
      const { shape, rest } = node;
      const known = Object.entries(value).filter(([name]) => Object.hasOwn(shape, name) || rest !== undefined);
      return Object.fromEntries(known.map(([name, member]) => [name, shape[name] === undefined ? member : pruned(shape[name], member)]));
    }
    case "leaf":
      return value;
  }
}

/** One line on what is wrong with a document. */
export const problemText = (problems: readonly FieldViolation[]): string =>
  problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");

/**
 * Reads JSON text, such as the upstream's, by a schema: whole numbers beyond 2^53 are exact where it says `z.int64()` or `z.bigint()`.
 *
 * @throws SyntaxError, which quotes nothing of the text
 */
export function readJson<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  const json = parseJson(text);
  const { value, problems } = isObject(json) ? read(schema, json) : { problems: [{ path: "", message: "it is not the text of a JSON object" }] };
  if (problems !== undefined) throw new SyntaxError(problemText(problems));
  return value;
}

/**
 * The JSON text of a value, with bigints as whole numbers, without members that are null or undefined.
 *
 * @throws NotJson
 */
export const stringifyJson = (value: unknown): string => writeJson(toJson(value));
