// A Unix socket that only its owner can reach, or the group of a folder that says so, and that leaves no file behind.

import { randomBytes } from "node:crypto";
import { chmod, lstat, rename, stat, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";

import { ServeError } from "./endpoint.js";

/** A bound socket's file. */
export interface SocketFile {
  /** Removes the file, if it is still this process's. */
  remove(): Promise<void>;
}

/**
 * Binds a socket of mode 0600 by `listen`; in a folder with the setgid bit, 0660. A file left behind by a process that has ended is replaced.
 *
 * @throws ServeError another process listens there, or the file is no socket, or it cannot be created
 */
export async function bindSocket(path: string, listen: (path: string) => Promise<void>): Promise<SocketFile> {
  try {
    await rejectIfInUse(path);
    // Bound under another name first, so that no process ever finds it with a wider mode, and a stale file goes in the same step. A name in the same
    // folder: random, as processes of several containers have the same id, and short, as sockets have little room for their paths.
    const temporary = join(dirname(path), `.${randomBytes(4).toString("hex")}`);
    await listen(temporary);
    try {
      // With the setgid bit the bridge runs as another user of the folder's group.
      const shared = ((await stat(dirname(path))).mode & 0o2000) !== 0;
      await chmod(temporary, shared ? 0o660 : 0o600);
      const { dev, ino } = await lstat(temporary);
      await rename(temporary, path);
      return { remove: () => removeIfOurs(path, dev, ino) };
    } catch (error) {
      // It is ours alone, whatever became of it.
      await unlink(temporary).catch(() => undefined);
      throw error;
    }
  } catch (error) {
    if (error instanceof ServeError) throw error;
    throw new ServeError(`cannot serve at the socket ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

const codeOf = (error: unknown): string | undefined => (error instanceof Error && "code" in error ? String(error.code) : undefined);

async function rejectIfInUse(path: string): Promise<void> {
  const rejected = (why: string): ServeError => new ServeError(`cannot serve at the socket ${path}: ${why}`);
  let found;
  try {
    found = await lstat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  if (!found.isSocket()) throw rejected("there is a file that is no socket; remove it, or name another path");
  const refusal = await new Promise<string | undefined>((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(undefined);
    });
    probe.once("error", (error) => {
      resolve(codeOf(error) ?? error.message);
    });
  });
  if (refusal === undefined) throw rejected("another process serves there; stop it, or name another path");
  if (refusal !== "ECONNREFUSED") throw rejected(`cannot find out whether another process serves there: ${refusal}`);
}

async function removeIfOurs(path: string, device: number, inode: number): Promise<void> {
  try {
    const { dev, ino } = await lstat(path);
    if (dev === device && ino === inode) await unlink(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
