// A plugin: its kinds, its config, its limits.

import { randomUUID } from "node:crypto";

import type { z } from "zod";

import type { ConfigCall } from "./call.js";
import type { CredentialKey } from "./config.js";
import type { ErrorTable } from "./errors.js";
import type { JsonObject } from "./json.js";
import type { Kind } from "./kind.js";
import { type Logger, textLogger } from "./log.js";
import { DeclarationError, PublishedKind } from "./published.js";
import { checkStructural } from "./schema/check.js";
import { NotStructural } from "./schema/problem.js";
import { structural } from "./schema/structural.js";
import { dnsSubdomain, LABEL_LIMIT, secretKey, semanticVersion, Violation } from "./violation.js";

/** A plugin: its kinds, what configures it, and the limits under which it is served. */
export interface PluginDeclaration<S extends z.ZodType<object> = z.ZodType<object>> {
  /** A DNS subdomain of at most 63 bytes that stays the same for ever: `s3.aws.example.org`. */
  name: string;
  /** A semantic version. */
  version: string;
  // A kind is known by its types; a plugin serves any.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  kinds: readonly Kind<any, any>[];
  /** The settings that a `ProviderConfig` holds; `call.config.settings(schema)` reads them. */
  settings?: S;
  /** The credentials that the plugin understands, by their keys. */
  credentials?: Readonly<Record<string, CredentialKey>>;
  /**
   * Tries a config, changing nothing, and reports whom the upstream takes us for: account, subscription, project; nothing, if it does not report it.
   * Unset: every config whose settings can be read is good.
   */
  checkConfig?(call: ConfigCall): Promise<string | undefined>;
  /** The one place where errors of the upstream's client become failures. */
  errors?: ErrorTable;
  /** Calls that are worked on at once; more wait. Unset: 256. */
  maxConcurrentCalls?: number;
  /** The largest message that is taken, in bytes. Unset: 4 MiB. */
  maxMessageBytes?: number;
  /** Unset: lines of text on standard error. */
  log?: Logger;
}

/** A plugin whose declarations were checked. */
export interface Declared {
  readonly declaration: PluginDeclaration;
  /** In the order of their types. */
  readonly kinds: readonly PublishedKind[];
  readonly instanceId: string;
  readonly settingsSchema: JsonObject | undefined;
  readonly maxConcurrentCalls: number;
  readonly maxMessageBytes: number;
  readonly listsExternal: boolean;
  readonly log: Logger;
}

/**
 * Puts the declarations together and checks them.
 *
 * @throws DeclarationError
 */
export function declare(declaration: PluginDeclaration): Declared {
  try {
    return declared(declaration);
  } catch (error) {
    throw error instanceof Violation ? new DeclarationError(`the plugin's ${error.message}`) : error;
  }
}

function declared(declaration: PluginDeclaration): Declared {
  const { maxConcurrentCalls = 256, maxMessageBytes = 4 << 20 } = declaration;
  dnsSubdomain(declaration.name, "name", LABEL_LIMIT);
  semanticVersion(declaration.version, "version");
  for (const [index, key] of Object.keys(declaration.credentials ?? {}).entries()) secretKey(key, `credential_keys[${index}].name`);
  if (!(maxConcurrentCalls >= 1) || !(maxMessageBytes >= 1)) {
    throw new DeclarationError(
      "a plugin that takes no calls, or no bytes, serves no caller: set maxConcurrentCalls and maxMessageBytes to 1 or more",
    );
  }
  const kinds = declaration.kinds.map((kind) => PublishedKind.of(kind));
  if (kinds.length === 0) throw new DeclarationError("the plugin has no kind: give it one in kinds");
  kinds.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  kinds.forEach((kind, index) => {
    const next = kinds[index + 1];
    if (next?.typeName !== kind.typeName) return;
    throw new DeclarationError(`kind ${kind.typeName} is registered twice: at ${kind.declaredAt}, and at ${next.declaredAt}`);
  });
  checkRequiredExamples(kinds);
  return {
    declaration,
    kinds,
    instanceId: randomUUID(),
    settingsSchema: settingsSchema(declaration.settings),
    maxConcurrentCalls,
    maxMessageBytes,
    listsExternal: kinds.some(({ kind }) => kind.list !== undefined),
    log: declaration.log ?? textLogger(),
  };
}

const sortKey = ({ kind: { group, version, kind } }: PublishedKind): string => [group, version, kind].join("\0");

function settingsSchema(settings: z.ZodType<object> | undefined): JsonObject | undefined {
  if (settings === undefined) return undefined;
  try {
    const schema = structural(settings);
    checkStructural(schema, "config_schema_json");
    return schema;
  } catch (error) {
    if (error instanceof NotStructural) throw new DeclarationError(`the plugin's config_schema_json: the type of the settings: ${error.message}`);
    throw error;
  }
}

/** An example can only require one that is there. */
function checkRequiredExamples(kinds: readonly PublishedKind[]): void {
  const names = new Set(kinds.flatMap(({ wire }) => wire.examples.map(({ name }) => `${wire.resourceType?.kind}/${name}`)));
  for (const { wire, declaredAt } of kinds) {
    for (const { name, requires } of wire.examples) {
      const missing = requires.find((example) => !names.has(example));
      if (missing !== undefined) {
        throw new DeclarationError(
          `kind ${wire.resourceType?.kind}: example ${JSON.stringify(name)} requires ${JSON.stringify(missing)}, which no kind has (${declaredAt})`,
        );
      }
    }
  }
}
