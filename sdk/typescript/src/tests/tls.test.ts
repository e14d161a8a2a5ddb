// Certificates that are renewed while the plugin serves.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";

import { Server } from "@grpc/grpc-js";

import { textLogger } from "../log.js";
import { mutualTls, type WatchedTls } from "../serve/tls.js";

const REFRESH = 20;

let folder: string;
let server: Server;
let watched: WatchedTls;
let lines: string[];
let port: number;

/** A certificate that is its own authority. */
function generate(name: string): void {
  const files = ["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.crt`)];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", `/CN=${name}`, ...files],
    {
      stdio: "ignore",
    },
  );
}

async function install(name: string): Promise<void> {
  await replace("tls.crt", `${name}.crt`);
  await replace("tls.key", `${name}.key`);
}

async function replace(to: string, from: string): Promise<void> {
  await writeFile(join(folder, `.${to}`), await readFile(join(folder, from)));
  await rename(join(folder, `.${to}`), join(folder, to));
}

/** A new connection of a client with this certificate. */
async function connected(client: string): Promise<TLSSocket> {
  const [cert, key] = await Promise.all([readFile(join(folder, `${client}.crt`)), readFile(join(folder, `${client}.key`))]);
  const socket = connect({ port, host: "127.0.0.1", cert, key, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  await once(socket, "secureConnect");
  return socket;
}

/** The name in the certificate that a new connection is shown. */
async function served(): Promise<string> {
  const socket = await connected("client");
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

/** Whether a client with this certificate is answered: a server of TLS 1.3 rejects one only after the client's handshake. */
async function isServed(client: string): Promise<boolean> {
  const socket = await connected(client);
  return new Promise((resolve) => {
    socket.once("data", () => {
      resolve(true);
      socket.destroy();
    });
    for (const end of ["error", "close"]) {
      socket.once(end, () => {
        resolve(false);
      });
    }
  });
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(REFRESH);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tls-"));
  for (const name of ["first", "second", "client", "stranger"]) generate(name);
  await install("first");
  await replace("ca.crt", "client.crt");
  lines = [];
  const environment = {
    PROVIDER_PLUGIN_TLS_CERT: join(folder, "tls.crt"),
    PROVIDER_PLUGIN_TLS_KEY: join(folder, "tls.key"),
    PROVIDER_PLUGIN_TLS_CA: join(folder, "ca.crt"),
  };
  watched = await mutualTls(
    environment,
    textLogger("info", (line) => lines.push(line)),
    REFRESH,
  );
  server = new Server();
  port = await new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", watched.credentials, (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
});
afterEach(async () => {
  watched.close();
  server.forceShutdown();
  await rm(folder, { recursive: true });
});

test("a renewed certificate is shown to new connections", { timeout: 30_000 }, async () => {
  assert.equal(await served(), "first");
  await install("second");
  await until(async () => (await served()) === "second");
  assert.match(lines.join("\n"), /certificates were read anew/);
});

test("a renewed authority decides who is served", { timeout: 30_000 }, async () => {
  assert.deepEqual([await isServed("client"), await isServed("stranger")], [true, false]);
  await replace("ca.crt", "stranger.crt");
  await until(() => isServed("stranger"));
  assert.equal(await isServed("client"), false);
});

test("while the files cannot be read the former ones count", { timeout: 30_000 }, async () => {
  await writeFile(join(folder, "tls.crt"), "no certificate");
  await until(() => lines.some((line) => line.includes("the former ones stay in use")));
  assert.equal(await served(), "first");
  await install("second");
  await until(async () => (await served()) === "second");
});
