// Unions and intersections, as far as Kubernetes can say them.

import { isObject, type Json, type JsonObject, writeJson } from "../json.js";
import { escape } from "../pointer.js";
import { NotStructural } from "./problem.js";

/**
 * One schema for several: an enum of the values of all; an int-or-string; or one object that has the fields of all, where exactly one must be there
 * if each has one.
 *
 * @throws NotStructural
 */
export function optionsOf(options: JsonObject[], path: string, how: "one" | "all" = "one"): JsonObject {
  const [first] = options;
  if (first === undefined) return { "x-kubernetes-preserve-unknown-fields": true };
  if (options.length === 1) return first;
  if (how === "one" && options.every((option) => option["type"] === first["type"] && Array.isArray(option["enum"]))) {
    return { ...pick(first, "type"), enum: options.flatMap((option) => option["enum"] as Json[]) };
  }
  const types = options.map(({ type }) => (typeof type === "string" ? type : "any")).sort();
  if (types.join() === "integer,string") return { "x-kubernetes-int-or-string": true };
  if (!types.every((type) => type === "object")) {
    throw new NotStructural(path, "a field has one type: a union may hold literals, an integer and a string, or objects");
  }
  return objectsOf(options, path, how);
}

function objectsOf(options: JsonObject[], path: string, how: "one" | "all"): JsonObject {
  const properties: JsonObject = {};
  for (const option of options) {
    for (const [name, property] of Object.entries((option["properties"] ?? {}) as JsonObject)) {
      properties[name] = joined(properties[name], property, `${path}/${escape(name)}`);
    }
  }
  const lists = options.map((option) => (option["required"] ?? []) as string[]);
  const all = [...new Set(lists.flat())];
  const required = how === "all" ? all : all.filter((name) => lists.every((list) => list.includes(name)));
  const isChoice = how === "one" && lists.every((list) => list.length === 1) && all.length === options.length;
  return {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...(isChoice ? { oneOf: all.map((name) => ({ required: [name] })) } : {}),
  };
}

/** Two options may share a field of the same schema, or a tag, whose values are joined. */
function joined(known: Json | undefined, property: Json, path: string): Json {
  if (known === undefined || writeJson(known, true) === writeJson(property, true)) return property;
  const values = (schema: Json): Json[] | undefined => (isObject(schema) && Array.isArray(schema["enum"]) ? schema["enum"] : undefined);
  const [former, more] = [values(known), values(property)];
  if (former === undefined || more === undefined) throw new NotStructural(path, "the options of a union give it different types");
  return { ...(known as JsonObject), enum: [...new Set([...former, ...more])] };
}

const pick = (object: JsonObject, key: string): JsonObject => (object[key] === undefined ? {} : { [key]: object[key] });
