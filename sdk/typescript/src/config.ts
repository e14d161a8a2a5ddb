// Where a plugin works, and with which credentials.

import type { z } from "zod";

import { Failure } from "./failure.js";
import type { JsonObject } from "./json.js";
import { problemText, read } from "./schema/document.js";
import type { Secrets } from "./secrets.js";

/** A resolved `ProviderConfig`: settings and credentials. Sent on every call. Neither `console.log` nor JSON shows a credential. */
export class Config {
  readonly #credentials: Secrets;

  constructor(
    /** Stable id of the `ProviderConfig`. */
    readonly id: string,
    /** Changes whenever settings or credentials do. */
    readonly revision: string,
    private readonly document: JsonObject,
    credentials: Secrets,
    /** After this the credentials are stale. The SDK answers CREDENTIALS_EXPIRED by itself to a call that comes later. */
    readonly credentialsExpireAt: Date | undefined,
  ) {
    this.#credentials = credentials;
  }

  /**
   * The settings, by the schema that the plugin publishes. None at all read as `{}`.
   *
   * @throws Failure INVALID_CONFIG that names the field
   */
  settings<S extends z.ZodType>(schema: S): z.output<S> {
    const { value, problems } = read(schema, this.document);
    if (problems !== undefined) throw Failure.invalidConfig(`the provider config's settings: ${problemText(problems)}`);
    return value;
  }

  /** A credential, if it was given. */
  credential(key: string): Uint8Array | undefined {
    return this.#credentials.get(key);
  }

  /**
   * A credential that must be there and is text.
   *
   * @throws Failure UNAUTHENTICATED when it is missing, empty or not UTF-8
   */
  requiredCredential(key: string): string {
    const value = this.#credentials.text(key);
    if (value === undefined || value === "") {
      throw Failure.unauthenticated(`the provider config's credentials lack ${JSON.stringify(key)}: add it to the Secret`);
    }
    return value;
  }

  /** No credentials at all: use the identity that the plugin's own environment gives. */
  get isAmbient(): boolean {
    return this.#credentials.isEmpty;
  }
}

/** A credential that the plugin understands. */
export interface CredentialKey {
  description?: string;
  /** It must be there, unless there are no credentials at all, which means ambient identity. */
  required?: boolean;
}

/** Keeps what `create` returns for each config, such as a client of the upstream, until its revision changes; at most `limit` of them. */
export function cachedByConfig<T>(create: (config: Config) => T, limit = 1000): (config: Config) => T {
  const cache = new Map<string, { revision: string; value: T }>();
  return (config) => {
    const cached = cache.get(config.id);
    // The newest are last.
    cache.delete(config.id);
    const value = cached?.revision === config.revision ? cached.value : create(config);
    cache.set(config.id, { revision: config.revision, value });
    for (const oldest of cache.keys()) {
      if (cache.size <= limit) break;
      cache.delete(oldest);
    }
    return value;
  };
}
