// The bakery: a folder with a ledger. This is the cloud; all that is lasting is in it.

import { randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";

import { timestampMs } from "@bufbuild/protobuf/wkt";
import { parse, stringify } from "lossless-json";

import { type Call, ensureTime, Failed, type Json, read } from "./call.js";
import { FailureCode } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";
import type { ConfigContext } from "./contract/crossbridge/provider/v1alpha1/target_pb.js";

/** What the ledger reports of one thing. */
export interface Entry {
  parameters: Json;
  marker: string;
  /** A digest of what is sensitive: no one reads it back, so that no version and no draft holds it. */
  secret?: string;
  /** Hash of the request that created it. */
  request?: string;
  /** Unix milliseconds: when it was begun, is done, began to go, no longer exists. */
  begun: bigint;
  done: bigint;
  leaving?: bigint;
  deleted?: bigint;
}

/** One version of an entry. */
export interface Version {
  name: string;
  number: number;
  entry: Entry;
}

/**
 * One file for each version of each thing. A file comes into being whole and is never changed nor removed, so that whoever writes the next
 * version first has it, among all processes, at any interruption.
 */
export class Ledger {
  constructor(private readonly folder: string) {}

  /** The newest version of one thing. */
  async find(name: string): Promise<Version | undefined> {
    const numbers = (await this.files()).filter((file) => file.name === name).map((file) => file.number);
    return numbers.length === 0 ? undefined : this.version(name, Math.max(...numbers));
  }

  /** The newest versions of all, oldest first. */
  async all(): Promise<Version[]> {
    const newest = new Map<string, number>();
    for (const { name, number } of await this.files()) newest.set(name, Math.max(number, newest.get(name) ?? 0));
    const all = await Promise.all([...newest].map(([name, number]) => this.version(name, number)));
    return all.sort((a, b) => Number(a.entry.begun - b.entry.begun));
  }

  /** Writes the version of this number; undefined: another actor was first. Nothing is begun after the deadline or the call's end. */
  async write(call: Call, name: string, number: number, entry: Entry): Promise<Version | undefined> {
    // In an existing bakery: a deleted one is not created anew.
    await mkdir(this.folder, { mode: 0o700 }).catch((error: unknown) => {
      if (!isCode(error, "EEXIST")) throw unavailable(error);
    });
    const draft = join(this.folder, `.${randomUUID()}`);
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(stringify(entry) ?? "");
      await file.sync();
      // To write may have taken long.
      ensureTime(call);
      await link(draft, join(this.folder, `${name}.${number}.json`));
      return { name, number, entry };
    } catch (error) {
      if (isCode(error, "EEXIST")) return undefined;
      throw error;
    } finally {
      await file.close();
      await unlink(draft);
    }
  }

  private async version(name: string, number: number): Promise<Version> {
    const file = join(this.folder, `${name}.${number}.json`);
    const written = await readFile(file, "utf8").catch((error: unknown) => {
      throw unavailable(error);
    });
    const entry = parse(written, undefined, (digits) => (/^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits))) as Entry;
    return { name, number, entry };
  }

  private async files(): Promise<{ name: string; number: number }[]> {
    try {
      return (await readdir(this.folder)).flatMap((file) => {
        const [, name, number] = /^([a-z0-9-]+)\.(\d+)\.json$/.exec(file) ?? [];
        return name && number ? [{ name, number: Number(number) }] : [];
      });
    } catch (error) {
      // Nothing was written yet, or the bakery itself is missing. An observation that fails is never absence.
      if (isCode(error, "ENOENT") && (await isFolder(dirname(this.folder)))) return [];
      throw unavailable(error);
    }
  }
}

const isFolder = (path: string): Promise<boolean> => stat(path).then((found) => found.isDirectory(), () => false);

const unavailable = (error: unknown) => {
  const code = error instanceof Error && "code" in error ? error.code : "unknown error";
  return new Failed(FailureCode.UNAVAILABLE, "BakeryUnavailable", `The ledger cannot be used: ${code}.`);
};

const isCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code;

/** The folder of a config's bakery. */
export async function enter(config: ConfigContext | undefined): Promise<string> {
  const settings = config?.settings ? read(config.settings, "config.settings") : {};
  const folder = settings["folder"];
  if (typeof folder !== "string" || !(await isFolder(folder))) {
    throw new Failed(FailureCode.INVALID_CONFIG, "NoBakery", "The folder of the settings does not exist on the plugin's machine.");
  }
  const expiry = config?.credentialsExpireTime;
  if (expiry && timestampMs(expiry) <= Date.now()) {
    throw new Failed(FailureCode.CREDENTIALS_EXPIRED, "Expired", "The credentials have expired.");
  }
  return folder;
}

export const ledger = async (call: Call, kind: string) => new Ledger(join(await enter(call.target.config), kind));
