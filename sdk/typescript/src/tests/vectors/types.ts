// Types of the vectors of schemas, written with zod.

import {
  caseInsensitive,
  immutable,
  jsonText,
  lateInitialized,
  quantity,
  type Reference,
  refersTo,
  sensitive,
  setOnce,
  writeOnly,
  z,
} from "../../index.js";

export interface Field {
  name: string;
  type: string;
  of?: string;
  values?: [string, ...string[]];
  description?: string;
  optional?: boolean;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  extensions?: Record<string, unknown>;
  rule?: Record<string, unknown>;
}

export type Types = Record<string, Field[]>;

export function objectOf(fields: readonly Field[], types: Types): z.ZodObject {
  return z.object(Object.fromEntries(fields.map((field) => [field.name, fieldOf(field, types)])));
}

function fieldOf(field: Field, types: Types): z.ZodType {
  let schema = typeOf(field, types);
  if (field.extensions !== undefined) schema = schema.meta(field.extensions);
  if (field.description !== undefined) schema = schema.describe(field.description);
  if (field.default !== undefined) schema = schema.default(field.type === "int64" ? BigInt(field.default as number) : field.default);
  if (field.optional) schema = schema.optional();
  return ruled(schema, field.rule ?? {});
}

function typeOf(field: Field, types: Types): z.ZodType {
  const item = (): z.ZodType => fieldOf({ name: "", type: field.of ?? "" }, types);
  switch (field.type) {
    case "string":
      return text(field);
    case "bool":
      return z.boolean();
    case "int32":
      return z.int32();
    case "int64": {
      let schema: z.ZodBigInt = z.int64();
      if (field.minimum !== undefined) schema = schema.min(BigInt(field.minimum));
      if (field.maximum !== undefined) schema = schema.max(BigInt(field.maximum));
      return schema;
    }
    case "float64":
      return z.number();
    case "date-time":
      return z.iso.datetime();
    case "enum":
      return z.enum(field.values ?? [""]);
    case "list": {
      let schema = z.array(item());
      if (field.minItems !== undefined) schema = schema.min(field.minItems);
      if (field.maxItems !== undefined) schema = schema.max(field.maxItems);
      return schema;
    }
    case "map":
      return z.record(z.string(), item());
    case "any":
      return z.unknown();
    case "any object":
      return z.record(z.string(), z.unknown());
    default:
      return objectOf(types[field.type] ?? [], types);
  }
}

function text({ minLength, maxLength, pattern }: Field): z.ZodString {
  let schema = z.string();
  if (minLength !== undefined) schema = schema.min(minLength);
  if (maxLength !== undefined) schema = schema.max(maxLength);
  return pattern === undefined ? schema : schema.regex(new RegExp(pattern));
}

function ruled(schema: z.ZodType, rule: Record<string, unknown>): z.ZodType {
  const wrappers: Record<string, (schema: z.ZodType) => z.ZodType> = {
    immutable,
    setOnce,
    lateInitialized,
    writeOnly,
    caseInsensitive,
    jsonText,
    quantity,
    sensitive,
    reference: (inner) => refersTo(inner, rule["reference"] as Reference),
  };
  return Object.keys(rule).reduce((inner, name) => {
    const wrap = wrappers[name];
    if (wrap === undefined) throw new Error(`no rule ${name}`);
    return wrap(inner);
  }, schema);
}
