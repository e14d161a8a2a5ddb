// A name that the certificate of whoever calls must bear.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";

import { serve } from "../serve/serve.js";
import { Stage, vectorPlugin } from "./vectors/plugin.js";

let folder: string;

const openssl = (...parameters: string[]): Buffer => execFileSync("openssl", parameters, { cwd: folder, stdio: ["ignore", "ignore", "ignore"] });

/** A certificate of the authority, with these subject alternative names. */
async function sign(file: string, names: string): Promise<void> {
  await writeFile(join(folder, `${file}.ext`), `subjectAltName=${names}`);
  openssl(
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-subj",
    "/CN=localhost",
    "-keyout",
    `${file}.key`,
    "-out",
    `${file}.csr`,
  );
  openssl(
    "x509",
    "-req",
    "-in",
    `${file}.csr`,
    "-CA",
    "ca.crt",
    "-CAkey",
    "ca.key",
    "-CAcreateserial",
    "-days",
    "2",
    "-extfile",
    `${file}.ext`,
    "-out",
    `${file}.crt`,
  );
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "client-name-"));
  openssl(
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
    "-subj",
    "/CN=authority",
    "-keyout",
    "ca.key",
    "-out",
    "ca.crt",
  );
  await sign("plugin", "DNS:localhost");
});
after(async () => {
  await rm(folder, { recursive: true });
});

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  });

const environmentFor = (name: string): NodeJS.ProcessEnv => ({
  PROVIDER_PLUGIN_TLS_CERT: join(folder, "plugin.crt"),
  PROVIDER_PLUGIN_TLS_KEY: join(folder, "plugin.key"),
  PROVIDER_PLUGIN_TLS_CA: join(folder, "ca.crt"),
  PROVIDER_PLUGIN_TLS_CLIENT_NAME: name,
});

/** What a call by the client of this certificate is answered with. */
async function answered(port: number, method: string, file: string): Promise<status> {
  const [ca, key, cert] = await Promise.all(["ca.crt", `${file}.key`, `${file}.crt`].map((name) => readFile(join(folder, name))));
  const client = new Client(`localhost:${port}`, credentials.createSsl(ca, key, cert), { "grpc.use_local_subchannel_pool": 1 });
  const same = (bytes: Buffer): Buffer => bytes;
  try {
    return await new Promise((resolve) => {
      const done = (error: ServiceError | null): void => {
        resolve(error?.code ?? status.OK);
      };
      client.waitForReady(Date.now() + 20_000, (error) => {
        assert.ifError(error);
        client.makeUnaryRequest(method, same, same, Buffer.alloc(0), done);
      });
    });
  } finally {
    client.close();
  }
}

const CASES: [name: string, names: string, isServed: boolean][] = [
  ["bridge.example.org", "DNS:other.example.org,DNS:Bridge.example.org", true],
  ["bridge.example.org", "DNS:*.example.org", true],
  ["bridge.example.org", "DNS:b*.example.org", false],
  ["example.org", "DNS:*.org", false],
  ["bridge.example.org", "DNS:other.example.org", false],
  // Neither is a name of a host; nor is the common name one.
  ["bridge.example.org", "URI:https://bridge.example.org", false],
  ["localhost", "URI:https://bridge.example.org", false],
  ["localhost", "IP:127.0.0.2", false],
  ["127.0.0.2", "IP:127.0.0.2", true],
  ["127.0.0.2", "DNS:localhost,IP:127.0.0.1", false],
];

for (const [name, names, isServed] of CASES) {
  test(`${names} ${isServed ? "is" : "is not"} ${name}`, { timeout: 60_000 }, async () => {
    await sign("client", names);
    const [port, stop] = [await freePort(), new AbortController()];
    const served = serve(vectorPlugin(new Stage()), {
      endpoint: `https://127.0.0.1:${port}`,
      environment: environmentFor(name),
      signal: stop.signal,
    });
    for (const method of ["/crossbridge.provider.v1alpha1.PluginService/GetPluginInfo", "/grpc.health.v1.Health/Check"]) {
      assert.equal(await answered(port, method, "client"), isServed ? status.OK : status.UNAUTHENTICATED, method);
    }
    stop.abort();
    await served;
  });
}

test("what is no name of a client ends the process", async () => {
  const served = serve(vectorPlugin(new Stage()), { endpoint: "https://127.0.0.1:0", environment: environmentFor("not a name") });
  await assert.rejects(served, /PROVIDER_PLUGIN_TLS_CLIENT_NAME is neither a DNS name nor an IP address/);
});
