// Structural OpenAPI v3 schemas: what Kubernetes takes as a CRD's.

import { isObject, type Json, type JsonObject } from "../json.js";
import { escape, segments } from "../pointer.js";
import { Violation } from "../violation.js";

/** Keywords that a structural schema never has, anywhere. */
const FORBIDDEN = [
  "$ref",
  "$schema",
  "$id",
  "$defs",
  "definitions",
  "dependencies",
  "deprecated",
  "discriminator",
  "id",
  "patternProperties",
  "readOnly",
  "writeOnly",
];

/** Values of `type`. There is no null: `nullable` says that. */
const TYPES = ["array", "boolean", "integer", "number", "object", "string"];

/**
 * Checks that a whole schema is structural.
 *
 * @throws Violation
 */
export function checkStructural(schema: Json, field: string): void {
  const [at, problem] = (isObject(schema) && schema["type"] === "object" ? problemOf(schema, "") : ["", "the whole must be of type object"]) ?? [];
  if (problem !== undefined) throw new Violation(field, `is no structural OpenAPI v3 schema: at ${JSON.stringify(at)}: ${problem}`);
}

/** Where in the schema, and what is wrong there. */
function problemOf(schema: JsonObject, at: string): [string, string] | undefined {
  const keyword = FORBIDDEN.find((word) => word in schema);
  if (keyword !== undefined) return [at, `${keyword} is not allowed`];
  const { type } = schema;
  if (type === undefined) {
    if (schema["x-kubernetes-int-or-string"] !== true && schema["x-kubernetes-preserve-unknown-fields"] !== true) return [at, "it has no type"];
  } else if (typeof type !== "string" || !TYPES.includes(type)) {
    return [at, `type ${JSON.stringify(type)} is not one of ${TYPES.join(", ")}`];
  }
  if ("properties" in schema && "additionalProperties" in schema) return [at, "properties and additionalProperties exclude each other"];
  if (schema["additionalProperties"] === false) return [at, "additionalProperties may not be false"];
  if (type === "array" && !("items" in schema)) return [at, "an array needs items"];
  const children: [Json | undefined, string][] = [];
  if ("properties" in schema) {
    if (!isObject(schema["properties"])) return [at, "properties is no object"];
    for (const [name, property] of Object.entries(schema["properties"])) children.push([property, `${at}/properties/${escape(name)}`]);
  }
  for (const word of ["items", "additionalProperties"]) {
    if (word in schema && schema[word] !== true) children.push([schema[word], `${at}/${word}`]);
  }
  for (const [child, place] of children) {
    const problem = isObject(child) ? problemOf(child, place) : ([place, "it is no schema"] as [string, string]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Why a field rule's path leads to no part of the schema; undefined: it does, or it leads into a part whose fields the schema does not name. */
export function problemOfPath(schema: JsonObject, path: string): string | undefined {
  let part: JsonObject = schema;
  for (const name of segments(path)) {
    let child: Json | undefined;
    if (part["type"] === "array") {
      if (name !== "*" && !/^\d+$/.test(name)) return `${JSON.stringify(path)} names ${JSON.stringify(name)} in a list; write * for any item`;
      child = part["items"];
    } else {
      child = (part["properties"] as JsonObject | undefined)?.[name] ?? part["additionalProperties"];
    }
    if (!isObject(child)) {
      if ("x-kubernetes-preserve-unknown-fields" in part || child === true) return undefined;
      return `${JSON.stringify(path)} is not in the schema of the parameters`;
    }
    part = child;
  }
  return undefined;
}
