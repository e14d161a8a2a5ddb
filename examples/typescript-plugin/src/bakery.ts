// The bakery: a folder with a ledger. This is the cloud; all that is lasting is in it.

import { randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";

import { type Config, type ConfigCall, Failure, readJson, stringifyJson, z } from "@crossbridge/sdk";

export const Settings = z.object({ folder: z.string().describe("Where the bakery is, on the plugin's machine. It must exist.") });

/** What the ledger reports of one thing; its parameters are the kind's. */
export const entry = <P extends z.ZodType>(parameters: P) =>
  z.object({
    parameters,
    marker: z.string(),
    /** A digest of what is sensitive: no one reads it back, so that no version and no draft holds it. */
    secret: z.string().optional(),
    /** Digest of the request that created it. */
    request: z.string().optional(),
    /** Unix milliseconds: when it was begun, is done, began to go, no longer exists. */
    begun: z.int(),
    done: z.int(),
    leaving: z.int().optional(),
    deleted: z.int().optional(),
  });

/** One version of an entry. */
export interface Version<E> {
  name: string;
  number: number;
  entry: E;
}

/**
 * One file for each version of each thing. A file comes into being whole and is never changed nor removed, so that whoever writes the next
 * version first has it, among all processes, at any interruption.
 */
export class Ledger<E extends { begun: number }> {
  constructor(
    private readonly folder: string,
    private readonly schema: z.ZodType<E>,
  ) {}

  /** The newest version of one thing. */
  async find(name: string): Promise<Version<E> | undefined> {
    const numbers = (await this.files()).filter((file) => file.name === name).map((file) => file.number);
    return numbers.length === 0 ? undefined : this.version(name, Math.max(...numbers));
  }

  /** The newest versions of all, oldest first. */
  async all(): Promise<Version<E>[]> {
    const newest = new Map<string, number>();
    for (const { name, number } of await this.files()) newest.set(name, Math.max(number, newest.get(name) ?? 0));
    const all = await Promise.all([...newest].map(([name, number]) => this.version(name, number)));
    return all.sort((a, b) => a.entry.begun - b.entry.begun);
  }

  /** Writes the version of this number; undefined: another actor was first. Nothing is begun after the deadline or the call's end. */
  async write(call: Pick<ConfigCall, "ensureTime">, name: string, number: number, entry: E): Promise<Version<E> | undefined> {
    // In an existing bakery: a deleted one is not created anew.
    await mkdir(this.folder, { mode: 0o700 }).catch((error: unknown) => {
      if (!isCode(error, "EEXIST")) throw unavailable(error);
    });
    const draft = join(this.folder, `.${randomUUID()}`);
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(stringifyJson(entry));
      await file.sync();
      // To write may have taken long.
      call.ensureTime();
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

  private async version(name: string, number: number): Promise<Version<E>> {
    const written = await readFile(join(this.folder, `${name}.${number}.json`), "utf8").catch((error: unknown) => {
      throw unavailable(error);
    });
    return { name, number, entry: readJson(this.schema, written) };
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

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

const isCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code;

const unavailable = (error: unknown) => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  return Failure.unavailable(`The ledger cannot be used: ${code}.`, { reason: "BakeryUnavailable", effect: "none" });
};

/** The folder of a config's bakery. */
export async function enter(config: Config): Promise<string> {
  const { folder } = config.settings(Settings);
  if (await isFolder(folder)) return folder;
  throw Failure.invalidConfig("The folder of the settings does not exist on the plugin's machine.", { reason: "NoBakery" });
}
