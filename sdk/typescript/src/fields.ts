// What a field of the parameters means beyond its type: annotations of zod schemas.

import type { z } from "zod";

import type { ResourceTypeName } from "./kind.js";

/** When a field may change; unset: at any time. */
export type Mutability = "immutable" | "set-once";
/** How the bridge compares two values; unset: as JSON. */
export type Comparison = "case-insensitive" | "json-text" | "quantity" | "write-only";

/** Another managed resource, and what of it a field holds: its external name, or what stands at `extract` in its status. */
export interface Reference extends ResourceTypeName {
  extract?: string;
}

/** The meaning of one field. */
export interface FieldAnnotation {
  sensitive?: boolean;
  /** Of a sensitive field: the user must give it. */
  isRequired?: boolean;
  mutability?: Mutability;
  comparison?: Comparison;
  lateInitialized?: boolean;
  reference?: Reference;
}

const annotations = new WeakMap<object, FieldAnnotation>();

/** The annotation of this schema itself, also where a method of zod has copied it since. */
export function annotationOf(schema: z.core.$ZodType): FieldAnnotation | undefined {
  for (let node: z.core.$ZodType | undefined = schema; node !== undefined; node = node._zod.parent) {
    const found = annotations.get(node);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A copy, so that the schema means nothing new where else it is used. */
function annotated<T extends z.ZodType>(schema: T, annotation: FieldAnnotation): T {
  const copy = schema.clone();
  annotations.set(copy, { ...annotationOf(schema), ...annotation });
  return copy;
}

/**
 * The field comes from a Secret: `call.sensitive("/password")` has its value. In the parameters it is always absent, so that it is optional there;
 * the user must give it unless the schema itself is optional.
 */
export function sensitive<T extends z.ZodType>(schema: T): z.ZodOptional<T> {
  const isRequired = schema._zod.optin === undefined;
  return annotated(schema.optional(), { ...annotationOf(schema), sensitive: true, isRequired });
}

/** The field changes only by replacement, which a person approves. */
export const immutable = <T extends z.ZodType>(schema: T): T => annotated(schema, { mutability: "immutable" });

/** The field may be set later, but not changed once set. */
export const setOnce = <T extends z.ZodType>(schema: T): T => annotated(schema, { mutability: "set-once" });

/** Where the desired state leaves it out, the field is filled from what was observed. */
export const lateInitialized = <T extends z.ZodType>(schema: T): T => annotated(schema, { lateInitialized: true });

/** Users may name another managed resource instead of the field's value. */
export const refersTo = <T extends z.ZodType>(schema: T, reference: Reference): T => annotated(schema, { reference });

/** The field is never compared: the upstream does not return it. */
export const writeOnly = <T extends z.ZodType>(schema: T): T => annotated(schema, { comparison: "write-only" });

/** Letter case does not count in the field. */
export const caseInsensitive = <T extends z.ZodType>(schema: T): T => annotated(schema, { comparison: "case-insensitive" });

/** The field is a string that holds JSON: white space and key order do not count. */
export const jsonText = <T extends z.ZodType>(schema: T): T => annotated(schema, { comparison: "json-text" });

/** The field is a Kubernetes quantity. */
export const quantity = <T extends z.ZodType>(schema: T): T => annotated(schema, { comparison: "quantity" });
