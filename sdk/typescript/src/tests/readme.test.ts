// The plugin in the README compiles, serves, and passes the test that the README has.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

test("the whole plugin of the README compiles, passes its test and serves", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "readme-"));
  try {
    const files = (await readFile(join(PACKAGE, "README.md"), "utf8")).matchAll(/```ts\n\/\/ (\S+\.ts)\n(.*?)```/gs);
    const names: string[] = [];
    for (const [, name = "", code = ""] of files) {
      names.push(name);
      await writeFile(join(folder, name), code);
    }
    assert.deepEqual(names, ["plugin.ts", "main.ts", "plugin.test.ts"]);
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    await mkdir(join(folder, "node_modules/@crossbridge"), { recursive: true });
    await symlink(PACKAGE, join(folder, "node_modules/@crossbridge/sdk"));
    await symlink(join(PACKAGE, "node_modules/@types"), join(folder, "node_modules/@types"));
    const flags = ["--strict", "--module", "nodenext", "--target", "es2023", "--types", "node", "--skipLibCheck", ...names];
    execFileSync(process.execPath, [join(PACKAGE, "node_modules/typescript/bin/tsc"), ...flags], { cwd: folder });
    // Its own test, not a part of this one.
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
    const tested = execFileSync(process.execPath, ["--test", "plugin.test.js"], { cwd: folder, env: environment, encoding: "utf8" });
    assert.match(tested, /^# pass 2$/m);
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
