// What a zod schema is made of, as far as the SDK walks it. Any instance of zod 4 will do: none of its classes is asked for.

import type { z } from "zod";

import { escape } from "../pointer.js";
import { type FieldAnnotation, annotationOf } from "../fields.js";

type Schema = z.core.$ZodType;

/** A part of a schema. `Wrapper`: another schema under the same path (optional, default, a union's options and so on). */
export type Node =
  | { type: "object"; shape: Readonly<Record<string, Schema>>; rest: Schema | undefined }
  | { type: "array"; item: Schema }
  | { type: "record"; value: Schema }
  | { type: "wrapper"; inner: readonly Schema[] }
  | { type: "leaf"; leaf: string };

/** Of zod's definitions, those members that the walk needs. */
interface Definition {
  type: string;
  shape?: Readonly<Record<string, Schema>>;
  catchall?: Schema;
  element?: Schema;
  valueType?: Schema;
  innerType?: Schema;
  options?: readonly Schema[];
  left?: Schema;
  right?: Schema;
  in?: Schema;
  items?: readonly Schema[];
  getter?: () => Schema;
}

export function nodeOf(schema: Schema): Node {
  const def = schema._zod.def as Definition;
  const inner = [def.innerType, def.left, def.right, def.in, def.getter?.(), ...(def.options ?? [])].filter((part) => part !== undefined);
  if (def.type === "object") return { type: "object", shape: def.shape ?? {}, rest: def.catchall };
  if (def.type === "array" && def.element !== undefined) return { type: "array", item: def.element };
  if (def.type === "record" && def.valueType !== undefined) return { type: "record", value: def.valueType };
  return inner.length > 0 ? { type: "wrapper", inner } : { type: "leaf", leaf: def.type };
}

/** The annotations of all fields, by their paths. */
export function annotationsOf(schema: Schema): Map<string, FieldAnnotation> {
  const found = new Map<string, FieldAnnotation>();
  const walk = (part: Schema, path: string): void => {
    const annotation = annotationOf(part);
    if (annotation !== undefined) found.set(path, { ...annotation, ...found.get(path) });
    const node = nodeOf(part);
    if (node.type === "wrapper") for (const inner of node.inner) walk(inner, path);
    if (node.type === "array") walk(node.item, `${path}/*`);
    if (node.type === "record") walk(node.value, `${path}/*`);
    if (node.type === "object") for (const [name, field] of Object.entries(node.shape)) walk(field, `${path}/${escape(name)}`);
  };
  walk(schema, "");
  return found;
}
