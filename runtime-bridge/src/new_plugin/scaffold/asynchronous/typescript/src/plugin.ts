// __KIND__: text files in a folder, which take a while to be ready. Put your cloud in the place of the folder.

import { open, readFile, stat, unlink } from "node:fs/promises";
import { basename, join } from "node:path";

import * as sdk from "@crossbridge/sdk";
import { Failure, kind, z } from "@crossbridge/sdk";

/** A file is ready so many milliseconds after its creation: longer than a call should wait. */
const PREPARING = 500;

const Settings = z.object({ folder: z.string().describe("Where the files are. It must exist.") });

const Parameters = z.object({ content: z.string().describe("What stands in the file.") });

/** What the upstream must be asked for: it outlives this process and this build. */
const handles = sdk.handleFormat(1, z.object({ file: z.string() }));

export const files = kind({
  group: "__NAME__.example.org",
  version: "v1alpha1",
  kind: "__KIND__",
  description: "A text file in the folder of the ProviderConfig.",
  parameters: Parameters,
  status: z.object({ bytes: z.int() }),
  externalName: { source: "user", pattern: "[a-z0-9][a-z0-9.-]*", example: "notes.txt" },
  createRecovery: ["name"],
  visibleWhenAccepted: true,
  examples: [{ name: "notes", externalName: "notes.txt", create: { content: "Buy milk." }, update: { content: "Buy tea." } }],

  async observe(call) {
    const file = await path(call);
    try {
      return sdk.found(await read(file));
    } catch (error) {
      if (is(error, "ENOENT")) return sdk.absent();
      throw error;
    }
  },

  async create(call) {
    return prepared(await write(call, "wx", call.parameters.content, PREPARING));
  },

  // The upstream knows how a creation goes, whichever process asks.
  async poll(call) {
    const { file } = handles.read(call.handle);
    if (call.externalName && call.externalName !== file) throw new sdk.InvalidArgument("handle", "is of another file");
    return prepared(join(await folder(call), file));
  },

  async update(call) {
    await write(call, "r+", call.parameters.content, 0);
    return sdk.completed();
  },

  async delete(call) {
    const file = await path(call);
    call.ensureTime();
    try {
      await unlink(file);
    } catch (error) {
      if (is(error, "ENOENT")) return sdk.alreadyDone();
      throw error;
    }
    return sdk.completed();
  },
});

async function folder(call: sdk.ConfigCall): Promise<string> {
  const { folder } = call.config.settings(Settings);
  const entry = await stat(folder).catch(() => undefined);
  if (!entry?.isDirectory()) throw Failure.invalidConfig("The folder does not exist.");
  return folder;
}

const path = async (call: sdk.ResourceCall): Promise<string> => join(await folder(call), call.externalName);

async function write(call: sdk.ResourceCall, flags: string, content: string, left: number): Promise<string> {
  const file = await path(call);
  call.ensureTime(); // Right before what counts: nothing is begun after the deadline.
  try {
    const handle = await open(file, flags);
    await handle.truncate();
    await handle.writeFile(content);
    const readyAt = new Date(Date.now() + left);
    await handle.utimes(readyAt, readyAt);
    await handle.close();
  } catch (error) {
    if (is(error, "EEXIST")) throw Failure.alreadyExists(call.externalName, "The file exists already.");
    if (is(error, "ENOENT")) throw Failure.notFound("The file does not exist.");
    throw error;
  }
  return file;
}

async function read(file: string) {
  const content = await readFile(file, "utf8");
  const left = Math.max(0, (await stat(file)).mtimeMs - Date.now());
  return {
    externalName: basename(file),
    parameters: { content },
    status: { bytes: Buffer.byteLength(content) },
    ready: left === 0,
    readyMessage: left === 0 ? "" : "it is being prepared",
    observeAfter: { milliseconds: left },
  };
}

async function prepared(file: string) {
  const found = await read(file).catch((error: unknown) => {
    throw is(error, "ENOENT") ? Failure.notFound("The file does not exist.") : error;
  });
  if (found.ready) return sdk.completed(sdk.found(found));
  const { externalName, observeAfter } = found;
  const handle = handles.write({ file: externalName });
  return sdk.underWay({ handle, verb: "create", pollAfter: observeAfter, phase: "Preparing" }, { externalName });
}

const is = (error: unknown, code: string): boolean => error instanceof Error && "code" in error && error.code === code;

export const plugin = {
  name: "__NAME__.example.org",
  version: "0.1.0",
  kinds: [files],
  settings: Settings,
  checkConfig: folder,
};
