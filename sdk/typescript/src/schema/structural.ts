// Zod schemas, turned structural as Kubernetes requires.
//
// Optional fields are simply absent from `required`: they are not `nullable`, as an absent field, not a null, means no opinion.

import { z } from "zod";

import { annotationOf } from "../fields.js";
import { type Json, type JsonObject, NotJson, toJson } from "../json.js";
import { escape } from "../pointer.js";
import { NotStructural } from "./problem.js";
import { optionsOf } from "./union.js";

type Schema = z.core.$ZodType;

/** Formats that Kubernetes knows; it warns of others. */
const FORMATS = new Set(["byte", "date", "date-time", "double", "duration", "float", "int32", "int64", "uuid"]);

/** Of a leaf as zod writes it: what a structural schema has, too. */
const LEAF = [
  "type",
  "format",
  "enum",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
];

/** A lazy type may be another each time. */
const DEEPEST = 100;

const KEEP_UNKNOWN = "x-kubernetes-preserve-unknown-fields";
const INT64: readonly unknown[] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Of zod's definitions, those members that are read here. */
interface Definition {
  type: string;
  checks?: readonly {
    _zod: { def: { check: string; value?: unknown; inclusive?: boolean; minimum?: number; maximum?: number; length?: number; format?: string } };
  }[];
  shape?: Readonly<Record<string, Schema>>;
  catchall?: Schema;
  element?: Schema;
  keyType?: Schema;
  valueType?: Schema;
  innerType?: Schema;
  defaultValue?: unknown;
  options?: readonly Schema[];
  left?: Schema;
  right?: Schema;
  in?: Schema;
  getter?: () => Schema;
}

const definitionOf = (schema: Schema): Definition => schema._zod.def;

/**
 * The structural OpenAPI v3 schema of a zod schema, as its input is.
 *
 * @throws NotStructural
 */
export function structural(schema: Schema): JsonObject {
  const root = derived(schema, "", []);
  if (root["type"] !== "object") throw new NotStructural("", "the whole must be an object: use z.object()");
  return root;
}

/** One node, with what its author says of it: a description, extensions of Kubernetes. */
function derived(schema: Schema, path: string, above: readonly Definition[]): JsonObject {
  const def = definitionOf(schema);
  if (above.includes(def) || above.length > DEEPEST)
    throw new NotStructural(path, "the type contains itself, which a CRD cannot express; use z.unknown() there");
  const node = derivedNode(schema, def, path, [...above, def]);
  for (const [key, value] of Object.entries(z.globalRegistry.get(schema) ?? {})) {
    if (key === "description" || key.startsWith("x-kubernetes-")) node[key] = value as Json;
  }
  return node;
}

function derivedNode(schema: Schema, def: Definition, path: string, above: readonly Definition[]): JsonObject {
  const part = (inner: Schema | undefined, at = path): JsonObject => derived(inner ?? z.unknown(), at, above);
  switch (def.type) {
    case "object":
      return object(def, path, part);
    case "array":
      return { type: "array", items: part(def.element, `${path}/*`), ...lengths(def) };
    case "record": {
      const members = part(def.valueType, `${path}/*`);
      return isAny(members) ? { type: "object", [KEEP_UNKNOWN]: true } : { type: "object", additionalProperties: members };
    }
    case "union":
      return optionsOf(
        (def.options ?? []).map((option) => part(option)),
        path,
      );
    case "intersection":
      return optionsOf([part(def.left), part(def.right)], path, "all");
    case "default":
    case "prefault":
      return { ...part(def.innerType), ...defaultOf(def.defaultValue, path) };
    case "optional":
    case "nullable":
    case "nonoptional":
    case "readonly":
    case "catch":
      return part(def.innerType);
    case "lazy":
      return part(def.getter?.());
    case "pipe":
      return part(def.in);
    case "any":
    case "unknown":
      return { [KEEP_UNKNOWN]: true };
    case "bigint":
      return { type: "integer", format: "int64", ...bounds(def) };
    case "string":
    case "number":
    case "boolean":
    case "enum":
    case "literal":
    case "template_literal":
      return leaf(schema, def, path);
    default:
      throw new NotStructural(path, `a CRD cannot express z.${def.type}(): a field is what JSON can hold`);
  }
}

function object(def: Definition, path: string, part: (inner: Schema | undefined, at?: string) => JsonObject): JsonObject {
  const fields = Object.entries(def.shape ?? {});
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, part(field, `${path}/${escape(name)}`)]));
  const required = fields.filter(([, field]) => annotationOf(field)?.isRequired ?? field._zod.optin === undefined).map(([name]) => name);
  const rest = def.catchall === undefined || definitionOf(def.catchall).type === "never" ? undefined : part(def.catchall, `${path}/*`);
  if (rest !== undefined && !isAny(rest)) throw new NotStructural(path, "an object has named fields, or is a record: it cannot have both");
  return {
    type: "object",
    ...(fields.length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
    ...(rest === undefined ? {} : { [KEEP_UNKNOWN]: true }),
  };
}

const isAny = (node: JsonObject): boolean => node[KEEP_UNKNOWN] === true && !("type" in node);

const checksOf = (def: Definition) => (def.checks ?? []).map(({ _zod }) => _zod.def);

function lengths(def: Definition): JsonObject {
  const out: JsonObject = {};
  for (const { check, minimum, maximum, length } of checksOf(def)) {
    if (check === "min_length" && minimum !== undefined) out["minItems"] = minimum;
    if (check === "max_length" && maximum !== undefined) out["maxItems"] = maximum;
    if (check === "length_equals" && length !== undefined) Object.assign(out, { minItems: length, maxItems: length });
  }
  return out;
}

/** Bounds of bigints are whole: one that is not included is one further. */
function bounds(def: Definition): JsonObject {
  const out: JsonObject = {};
  for (const { check, value, inclusive } of checksOf(def)) {
    if (typeof value !== "bigint" || INT64.includes(value)) continue;
    if (check === "greater_than") out["minimum"] = inclusive ? value : value + 1n;
    if (check === "less_than") out["maximum"] = inclusive ? value : value - 1n;
  }
  return out;
}

/** One that changes nothing, as what is absent already is empty, is left out. */
function defaultOf(value: unknown, path: string): JsonObject {
  try {
    const json = toJson(value);
    const isEmpty = typeof json === "object" && (json === null || Object.keys(json).length === 0);
    return isEmpty ? {} : { default: json };
  } catch (error) {
    throw error instanceof NotJson ? new NotStructural(path, `its default is not JSON: ${error.problem}`) : error;
  }
}

function leaf(schema: Schema, def: Definition, path: string): JsonObject {
  let written: Record<string, unknown>;
  try {
    written = { ...z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" }) };
  } catch (error) {
    throw new NotStructural(path, error instanceof Error ? error.message : String(error));
  }
  const entries = Object.entries(written).filter(([key]) => LEAF.includes(key));
  const node = Object.fromEntries(entries) as JsonObject;
  if (node["type"] === "integer" || node["type"] === "number") simplifyNumber(node);
  simplifyText(node, def, path);
  return node;
}

/** zod bounds whole numbers by what a double can count. */
function simplifyNumber(node: JsonObject): void {
  if (Array.isArray(node["enum"]) && node["enum"].every((value) => Number.isInteger(value))) node["type"] = "integer";
  if (node["type"] === "number") node["format"] ??= "double";
  if (node["minimum"] === -(2 ** 31) && node["maximum"] === 2 ** 31 - 1) {
    delete node["minimum"];
    delete node["maximum"];
    node["format"] = "int32";
  }
  if (node["minimum"] === Number.MIN_SAFE_INTEGER) delete node["minimum"];
  if (node["maximum"] === Number.MAX_SAFE_INTEGER) delete node["maximum"];
}

/** A format that Kubernetes knows says enough; the pattern of another is kept where RE2 knows it. */
function simplifyText(node: JsonObject, def: Definition, path: string): void {
  const { format } = node;
  const isFormat = typeof format === "string" && node["type"] === "string";
  if (isFormat && FORMATS.has(format)) {
    delete node["pattern"];
    return;
  }
  if (isFormat) delete node["format"];
  const problem = typeof node["pattern"] === "string" ? notRe2(node["pattern"]) : undefined;
  if (problem === undefined) return;
  const isZods = isFormat || checksOf(def).every(({ format }) => format !== "regex");
  if (!isZods) throw new NotStructural(path, `its pattern ${problem}, which RE2, and so Kubernetes, does not know`);
  delete node["pattern"];
}

/** What a regular expression has that RE2 does not know. */
export function notRe2(pattern: string): string | undefined {
  // Without classes and what is escaped, save for references to groups.
  const bare = pattern.replace(/\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/g, "");
  if (/\(\?<?[=!]/.test(bare)) return "looks around";
  return /\\[1-9]|\\k</.test(bare) ? "refers back to a group" : undefined;
}
