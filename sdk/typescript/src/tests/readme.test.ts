// The plugin in the README compiles, and lives through the lab of its own process.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

test("the whole plugin of the README compiles and serves", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "readme-"));
  try {
    const [, code] = /```ts\n(.*?)```/s.exec(await readFile(join(PACKAGE, "README.md"), "utf8")) ?? [];
    assert.ok(code);
    await writeFile(join(folder, "main.ts"), code);
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    await mkdir(join(folder, "node_modules/@crossbridge"), { recursive: true });
    await symlink(PACKAGE, join(folder, "node_modules/@crossbridge/sdk"));
    await symlink(join(PACKAGE, "node_modules/@types"), join(folder, "node_modules/@types"));
    const flags = ["--strict", "--module", "nodenext", "--target", "es2023", "--types", "node", "--skipLibCheck", "main.ts"];
    execFileSync(process.execPath, [join(PACKAGE, "node_modules/typescript/bin/tsc"), ...flags], { cwd: folder });
    const socket = join(folder, "plugin.sock");
    const child = spawn(process.execPath, ["main.js"], {
      cwd: folder,
      env: { ...process.env, PROVIDER_PLUGIN_ENDPOINT: `unix://${socket}` },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [said] = (await once(child.stderr, "data")) as [Buffer];
    assert.match(said.toString(), /serving plugin=files\.example\.org/);
    child.kill("SIGTERM");
    const [exitCode] = (await once(child, "exit")) as [number];
    assert.equal(exitCode, 0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
