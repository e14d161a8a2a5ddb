// Handles and provider states that outlive the process and the build.

import type { z } from "zod";

import { InvalidArgument } from "./failure.js";
import { isObject, parseJson, toJson, writeJson, type JsonObject } from "./json.js";
import { read } from "./schema/document.js";
import { STATE_LIMIT } from "./violation.js";

/** Writes and reads handles, or provider states, of one form. */
export interface HandleFormat<T> {
  /** The text, the same for the same value. */
  write(value: T): string;
  /**
   * The value of a handle that this format wrote, also in an earlier version.
   *
   * @throws InvalidArgument for any other text
   */
  read(text: string): T;
}

/**
 * A form of handles: a version and a JSON object, such as `1:{"name":"db-1"}`. `former` reads what earlier versions wrote: each is given the object
 * of its version, and returns today's value. Put into a handle what the upstream must be asked for (an id, a region): no secrets, no times, nothing of
 * the process. `field` is what a rejection names: `handle`, unless it is `target.provider_state`.
 */
export function handleFormat<S extends z.ZodType<object>>(
  version: number,
  schema: S,
  { field = "handle", former = {} }: { field?: string; former?: Readonly<Record<number, (object: JsonObject) => z.output<S>>> } = {},
): HandleFormat<z.output<S>> {
  return {
    write(value) {
      const text = `${version}:${writeJson(toJson(value), true)}`;
      if (Buffer.byteLength(text) > STATE_LIMIT)
        throw new RangeError(`a ${field} has at most ${STATE_LIMIT} bytes: this one has ${Buffer.byteLength(text)}`);
      return text;
    },
    read(text) {
      const [, number, json] = /^(\d+):(.*)$/s.exec(text) ?? [];
      const object = json === undefined ? undefined : parseJson(json);
      if (number === undefined || !isObject(object)) throw new InvalidArgument(field, "is not of this plugin");
      if (Number(number) !== version) {
        const upgrade = former[Number(number)];
        if (upgrade === undefined) throw new InvalidArgument(field, `is of version ${number}, which this plugin does not know`);
        return upgrade(object);
      }
      const { value, problems } = read(schema, object);
      if (problems !== undefined) throw new InvalidArgument(field, "is not of this plugin");
      return value;
    },
  };
}
