// JSON Pointers (RFC 6901), and the paths of field rules, where "*" stands for any index or key.

import { isObject, type Json, type JsonObject } from "./json.js";

export const escape = (segment: string): string => segment.replaceAll("~", "~0").replaceAll("/", "~1");

const unescape = (segment: string): string => segment.replaceAll("~1", "/").replaceAll("~0", "~");

export const segments = (pointer: string): string[] => pointer.split("/").slice(1).map(unescape);

/** The pointer of a path in a document. */
export const pointerOf = (path: readonly PropertyKey[]): string => path.map((part) => `/${escape(String(part))}`).join("");

/** Whether it is a JSON Pointer, not that of the whole document. */
export const isPointer = (text: string): boolean => text.startsWith("/") && !/~(?![01])/.test(text);

/** What stands at a JSON Pointer. */
export function at(document: Json, pointer: string): Json | undefined {
  let value: Json | undefined = document;
  for (const segment of segments(pointer)) {
    if (Array.isArray(value)) value = /^(0|[1-9]\d*)$/.test(segment) ? value[Number(segment)] : undefined;
    else if (isObject(value)) value = Object.hasOwn(value, segment) ? value[segment] : undefined;
    else return undefined;
  }
  return value;
}

/** Takes out what stands at a field rule's path. */
export function remove(document: JsonObject, path: string): void {
  removeWithin(document, segments(path));
}

function removeWithin(value: Json | undefined, way: string[]): void {
  const [first, ...rest] = way;
  if (first === undefined) return;
  if (Array.isArray(value)) {
    // An item cannot be taken out without moving the others; what it holds can.
    for (const index of value.keys()) {
      if (rest.length === 0) value[index] = null;
      else removeWithin(value[index], rest);
    }
  } else if (isObject(value)) {
    const object = value;
    for (const key of first === "*" ? Object.keys(object) : [first]) {
      if (rest.length > 0) removeWithin(object[key], rest);
      else Reflect.deleteProperty(object, key);
    }
  }
}
