// __KIND__: text files in a folder as Kubernetes objects. Put your cloud in the place of the folder.

import { open, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

import { absent, alreadyDone, completed, type ConfigCall, Failure, found, kind, type ResourceCall, z } from "@crossbridge/sdk";

const Settings = z.object({ folder: z.string().describe("Where the files are. It must exist.") });

const Parameters = z.object({ content: z.string().describe("What stands in the file.") });

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
      const content = await readFile(file, "utf8");
      return found({ externalName: call.externalName, parameters: { content }, status: { bytes: Buffer.byteLength(content) }, ready: true });
    } catch (error) {
      if (is(error, "ENOENT")) return absent();
      throw error;
    }
  },

  async create(call) {
    return write(call, "wx", call.parameters.content);
  },

  async update(call) {
    return write(call, "r+", call.parameters.content);
  },

  async delete(call) {
    const file = await path(call);
    call.ensureTime();
    try {
      await unlink(file);
    } catch (error) {
      if (is(error, "ENOENT")) return alreadyDone();
      throw error;
    }
    return completed();
  },
});

async function folder(call: ConfigCall): Promise<string> {
  const { folder } = call.config.settings(Settings);
  const entry = await stat(folder).catch(() => undefined);
  if (!entry?.isDirectory()) throw Failure.invalidConfig("The folder does not exist.");
  return folder;
}

const path = async (call: ResourceCall): Promise<string> => join(await folder(call), call.externalName);

async function write(call: ResourceCall, flags: string, content: string) {
  const file = await path(call);
  call.ensureTime(); // Right before what counts: nothing is begun after the deadline.
  try {
    const handle = await open(file, flags);
    await handle.truncate();
    await handle.writeFile(content);
    await handle.close();
  } catch (error) {
    if (is(error, "EEXIST")) throw Failure.alreadyExists(call.externalName, "The file exists already.");
    if (is(error, "ENOENT")) throw Failure.notFound("The file does not exist.");
    throw error;
  }
  return completed();
}

const is = (error: unknown, code: string): boolean => error instanceof Error && "code" in error && error.code === code;

export const plugin = {
  name: "__NAME__.example.org",
  version: "0.1.0",
  kinds: [files],
  settings: Settings,
  checkConfig: folder,
};
