// Whether an answer matches what a vector expects, as tests/vectors/README.md has it.

import { isDeepStrictEqual } from "node:util";

type Saved = ReadonlyMap<string, unknown>;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** What does not match, by its place; undefined: all matches. */
export function mismatch(expected: unknown, actual: unknown, saved: Saved, at = "answer"): string | undefined {
  if (isObject(expected) && Object.keys(expected).some((key) => key.startsWith("$"))) {
    for (const [operator, operand] of Object.entries(expected)) {
      if (!operates(operator, operand, actual, saved)) return `${at}: ${JSON.stringify(actual)} is not ${operator} ${JSON.stringify(operand)}`;
    }
    return undefined;
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return `${at}: ${JSON.stringify(actual)} is no object`;
    return first(Object.entries(expected).map(([key, member]) => mismatch(member, actual[key], saved, `${at}.${key}`)));
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return `${at}: ${JSON.stringify(actual)} is no list of ${expected.length}`;
    return first(expected.map((item, index) => mismatch(item, actual[index], saved, `${at}[${index}]`)));
  }
  return expected === actual ? undefined : `${at}: ${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`;
}

const first = (all: (string | undefined)[]): string | undefined => all.find((problem) => problem !== undefined);

const isUnset = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  value === 0 ||
  value === "0" ||
  value === false ||
  (typeof value === "object" && Object.keys(value).length === 0);

function operates(operator: string, operand: unknown, actual: unknown, saved: Saved): boolean {
  const has = (): boolean => typeof actual === "string" && actual.toLowerCase().includes(String(operand).toLowerCase());
  const matches = (expected: unknown, value: unknown): boolean => mismatch(expected, value, saved) === undefined;
  switch (operator) {
    case "$unset":
      return isUnset(actual);
    case "$any":
      return !isUnset(actual);
    case "$contains":
      return has();
    case "$lacks":
      return !has();
    case "$json":
      return typeof actual === "string" && isDeepStrictEqual(normalized(JSON.parse(actual)), normalized(operand));
    case "$equals":
      return isDeepStrictEqual(actual, operand);
    case "$oneOf":
      return (operand as unknown[]).some((option) => matches(option, actual));
    case "$unordered": {
      const rest = [...(actual as unknown[])];
      return (
        (operand as unknown[]).every((item) => rest.splice(rest.findIndex((other) => matches(item, other)) >>> 0, 1).length === 1) &&
        rest.length === 0
      );
    }
    case "$saved":
      return actual === saved.get(String(operand));
    case "$not":
      return !matches(operand, actual);
    default:
      throw new Error(`no operator ${operator}`);
  }
}

/** Of schemas: empty `properties` or `required` equal none, and `required` has no order. */
export function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalized);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key, member]) => !(["properties", "required"].includes(key) && isUnset(member)));
  return Object.fromEntries(
    entries.map(([key, member]) => [key, key === "required" && Array.isArray(member) ? [...(member as string[])].sort() : normalized(member)]),
  );
}
