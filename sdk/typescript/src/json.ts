// JSON text without loss: whole numbers beyond 2^53 are bigints.

import { parse } from "lossless-json";

import { escape } from "./pointer.js";

/** What JSON text can hold; whole numbers beyond 2^53 are bigints. */
export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = Record<string, Json>;

/** Whether a value is an object with named members. */
export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const number = (text: string): number | bigint => {
  const value = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
};

/** Reads any JSON text. The error's own text would quote it, so that none is handed on. */
export function parseJson(text: string): Json | undefined {
  try {
    return parse(text, undefined, number) as Json;
  } catch {
    return undefined;
  }
}

/** What a value holds that JSON cannot express. */
export class NotJson extends Error {
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(`${path === "" ? "the value" : path}: ${problem}`);
  }
}

/**
 * A value as JSON has it: without members that are null or undefined, as no opinion is an absent field.
 *
 * @throws NotJson
 */
export function toJson(value: unknown, path = ""): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "bigint":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new NotJson(path, "not a finite number");
      return value;
    case "object":
      break;
    default:
      throw new NotJson(path, `JSON has no ${typeof value}`);
  }
  if (value === null) return null;
  if (Array.isArray(value)) return value.map((item, index) => toJson(item, `${path}/${index}`));
  if (value instanceof Date) return value.toISOString();
  if (!isPlain(value)) throw new NotJson(path, `JSON has no ${value.constructor.name}`);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  return Object.fromEntries(entries.map(([key, member]) => [key, toJson(member, `${path}/${escape(key)}`)]));
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** The text of a JSON value; with `sorted` members, the same text for the same value. */
export function writeJson(value: Json, sorted = false): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => writeJson(item, sorted)).join(",")}]`;
  const entries = Object.entries(value);
  if (sorted) entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${writeJson(member, sorted)}`).join(",")}}`;
}
