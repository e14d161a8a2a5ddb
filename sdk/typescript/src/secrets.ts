// Values that no log, message or handle may show.

import { inspect } from "node:util";

/** Shorter ones, in bytes, occur by chance. */
const SHORTEST = 6;

/** Secret values by key. Neither `console.log` nor JSON shows them. */
export class Secrets {
  readonly #values: ReadonlyMap<string, Uint8Array>;

  constructor(values: Iterable<readonly [string, Uint8Array]>) {
    this.#values = new Map(values);
  }

  get(key: string): Uint8Array | undefined {
    return this.#values.get(key);
  }

  /** As text; undefined: there is none, or it is no UTF-8. */
  text(key: string): string | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
    } catch {
      return undefined;
    }
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  keys(): string[] {
    return [...this.#values.keys()];
  }

  /** The texts that can be searched for. */
  texts(): string[] {
    return this.keys()
      .map((key) => this.text(key))
      .filter((text) => text !== undefined && Buffer.byteLength(text) >= SHORTEST) as string[];
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(this.keys().map((key) => [key, "redacted"]));
  }

  [inspect.custom](): Record<string, string> {
    return this.toJSON();
  }
}

/** A text without any of these secrets, encoded ones included. */
export function scrubbed(text: string, secrets: readonly string[]): string {
  return secrets.flatMap(forms).reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}

/** Whether a text holds one of these secrets, perhaps encoded. */
export const holdsSecret = (text: string, secrets: readonly string[]): boolean => secrets.flatMap(forms).some((secret) => text.includes(secret));

/** As it is, as JSON and URLs quote it, and as base64 has it at any offset. */
function forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const encoded = [0, 1, 2].flatMap((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    // Letters that its neighbours have a part in are left out.
    const own = whole.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
    return [own, own.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), bytes.toString("hex"), ...encoded])];
}
