// A rule of the contract that a message breaks, and the forms that its texts have.

import { isPointer } from "./pointer.js";

/** A message breaks the contract: which field (by its dotted path), and which rule. */
export class Violation extends Error {
  constructor(
    readonly field: string,
    readonly rule: string,
  ) {
    super(`${field} ${rule}`);
  }
}

/** Condition reasons, metric labels and Kubernetes names share this length, in bytes. */
export const LABEL_LIMIT = 63;
/** Handles and provider states, in bytes. */
export const STATE_LIMIT = 4096;
/** What a plugin gives as a name or an id, in bytes. */
const GIVEN_LIMIT = 1024;
/** Differences of one observation. */
export const DIFFS_LIMIT = 1024;
/** Warnings of one answer. */
export const WARNINGS_LIMIT = 16;
/** Fields at fault that one failure names. */
export const VIOLATIONS_LIMIT = 64;
/** Connection details of one answer, in bytes, keys included. */
const DETAILS_LIMIT = 1024 * 1024;
/** Longest name of a Kubernetes object, and of a Secret's key. */
const NAME_LIMIT = 253;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MARKER = /^[a-z][a-z0-9-]*$/;
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const SEMANTIC_VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

/** Runs a check of a part; a violation is seen from the whole, which holds the part in `field`. */
export function within<T>(field: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Violation(error.field === "" ? field : `${field}.${error.field}`, error.rule);
  }
}

/** Checks each item; a violation names its index. */
export function each<T>(items: readonly T[], field: string, check: (item: T) => void): void {
  items.forEach((item, index) => {
    within(`${field}[${index}]`, () => {
      check(item);
    });
  });
}

/** Items that must differ by their key. */
export function distinct(keys: readonly string[], field: string, name: string): void {
  const seen = new Set<string>();
  keys.forEach((key, index) => {
    const path = name === "" ? `${field}[${index}]` : `${field}[${index}].${name}`;
    if (seen.has(key)) throw new Violation(path, `is given twice: ${JSON.stringify(key)}`);
    seen.add(key);
  });
}

export const missing = (field: string, when = ""): Violation => new Violation(field, `is required${when === "" ? "" : ` ${when}`}, and is not set`);

export const notAllowed = (field: string, why: string): Violation => new Violation(field, `is not allowed: ${why}`);

export function required(value: string, field: string): void {
  if (value === "") throw missing(field);
}

export function atMost(value: string, limit: number, field: string): void {
  const length = Buffer.byteLength(value);
  if (length > limit) throw new Violation(field, `has ${length} bytes; at most ${limit} are allowed`);
}

/** At most so many items. */
export function count(items: readonly unknown[], limit: number, field: string): void {
  if (items.length > limit) throw new Violation(field, `has ${items.length} items; at most ${limit} are allowed`);
}

export function form(holds: boolean, description: string, field: string): void {
  if (!holds) throw new Violation(field, `is malformed: it must be ${description}`);
}

/** A name or an id that a plugin gives; may be empty. */
export function name(value: string, field: string): void {
  atMost(value, GIVEN_LIMIT, field);
  form(!/\p{Cc}/u.test(value), "without control characters", field);
}

/** All connection details of one answer. */
export function details(values: Readonly<Record<string, Uint8Array>>, field: string): void {
  const length = Object.entries(values).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + value.length, 0);
  if (length > DETAILS_LIMIT) throw new Violation(field, `has ${length} bytes; at most ${DETAILS_LIMIT} are allowed`);
}

/** A reason, a phase, a kind: not empty. */
export function pascalCase(value: string, field: string): void {
  required(value, field);
  atMost(value, LABEL_LIMIT, field);
  form(/^[A-Z][A-Za-z0-9]*$/.test(value), "PascalCase, of ASCII letters and digits", field);
}

/** An ownership marker; may be empty. */
export function marker(value: string, field: string): void {
  atMost(value, LABEL_LIMIT, field);
  form(value === "" || MARKER.test(value), "of a-z, 0-9 and '-', beginning with a letter", field);
}

/** A plural, a singular, a short name, a version. */
export function dnsLabel(value: string, field: string): void {
  required(value, field);
  atMost(value, LABEL_LIMIT, field);
  form(DNS_LABEL.test(value) && !/^\d/.test(value), "a DNS label: of a-z, 0-9 and '-', beginning with a letter, not ending with '-'", field);
}

/** An API group, a plugin's name. */
export function dnsSubdomain(value: string, field: string, limit = NAME_LIMIT): void {
  required(value, field);
  atMost(value, limit, field);
  form(
    value.split(".").every((label) => DNS_LABEL.test(label)),
    "a DNS subdomain: labels of a-z, 0-9 and '-', joined by '.'",
    field,
  );
}

/** A key of a Secret. */
export function secretKey(value: string, field: string): void {
  required(value, field);
  atMost(value, NAME_LIMIT, field);
  form(value !== "." && value !== ".." && /^[A-Za-z0-9._-]+$/.test(value), "a key of a Secret: of letters, digits, '-', '_' and '.'", field);
}

/** A JSON Pointer, not that of the whole document. */
export function pointer(value: string, field: string): void {
  required(value, field);
  form(isPointer(value), "a JSON Pointer, such as /a/b", field);
}

/** A UUID, written with hyphens. */
export function uuid(value: string, field: string): void {
  required(value, field);
  form(UUID.test(value), "a UUID, such as 123e4567-e89b-12d3-a456-426614174000", field);
}

/** A version as SemVer 2 writes it. */
export function semanticVersion(value: string, field: string): void {
  required(value, field);
  form(SEMANTIC_VERSION.test(value), "a semantic version, such as 1.2.3", field);
}
