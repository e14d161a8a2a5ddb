// Where and how a plugin is served: socket, health, reflection, the end.

import { readFileSync } from "node:fs";
import { lstat, unlink } from "node:fs/promises";
import { connect } from "node:net";

import { type DescService } from "@bufbuild/protobuf";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation } from "grpc-health-check";

import { definition, files } from "./contract.js";
import { PluginService } from "./contract/crossbridge/provider/v1alpha1/plugin_service_pb.js";
import { ResourceService } from "./contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import { Health } from "./contract/health/v1/health_pb.js";
import { drain, Running } from "./drain.js";
import { parse } from "./endpoint.js";
import type { Kind } from "./kind.js";
import { pluginService } from "./pluginService.js";
import { resourceService } from "./resourceService.js";

const SERVICES: DescService[] = [PluginService, ResourceService];

/** Serves until `stop` is aborted and the calls that ran then have ended. */
export async function serve(endpoint: string, kinds: Kind[], stop: AbortSignal): Promise<void> {
  const byName = new Map(kinds.map((kind) => [kind.described.resourceType?.kind ?? "", kind]));
  const server = new Server();
  const running = new Running();
  server.addService(definition(PluginService), running.of(pluginService(byName)));
  server.addService(definition(ResourceService), running.of(resourceService(byName)));
  const names = ["", ...SERVICES.map(({ typeName }) => typeName)];
  const status = new HealthImplementation(Object.fromEntries(names.map((name) => [name, "SERVING"])));
  status.addToServer(server);
  // Meant for definitions of another loader: it reads their encoded files only.
  new ReflectionService({ all: { fileDescriptorProtos: files([...SERVICES, Health]) } } as never).addToServer(server);

  await bind(server, endpoint);
  console.error(`serving ${[...byName.keys()].join(", ")} at ${endpoint}`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
  console.error("stopping: running calls may end, no new ones begin");
  for (const name of names) status.setStatus(name, "NOT_SERVING");
  await drain(server, running);
  console.error("stopped");
}

async function bind(server: Server, endpoint: string): Promise<void> {
  const at = parse(endpoint);
  if ("address" in at) {
    await listen(server, at.address, at.tls ? mutualTls() : ServerCredentials.createInsecure());
    return;
  }
  await removeStale(at.path);
  const before = process.umask(0o177);
  try {
    await listen(server, `unix:${at.path}`, ServerCredentials.createInsecure());
  } finally {
    process.umask(before);
  }
}

const listen = (server: Server, address: string, credentials: ServerCredentials) =>
  new Promise<void>((resolve, reject) => server.bindAsync(address, credentials, (error) => (error ? reject(error) : resolve())));

/** A socket left behind by a process that no longer exists is removed; anything else that is there stays. */
async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (!found) return;
  if (!found.isSocket()) throw new Error("there is a file that is no socket; remove it, or name another path");
  const answer = await new Promise<string | undefined>((resolve) => {
    const probe = connect(path, () => resolve(undefined));
    probe.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    probe.on("connect", () => probe.destroy());
  });
  if (answer === undefined) throw new Error("another process serves there; stop it, or name another path");
  if (answer !== "ECONNREFUSED") throw new Error(`cannot find out whether another process serves there: ${answer}`);
  await unlink(path);
}

function mutualTls(): ServerCredentials {
  const pem = (name: string) => {
    const path = process.env[name];
    if (!path) throw new Error(`an https endpoint needs mutual TLS: set ${name} to a PEM file`);
    return readFileSync(path);
  };
  const pair = { cert_chain: pem("PROVIDER_PLUGIN_TLS_CERT"), private_key: pem("PROVIDER_PLUGIN_TLS_KEY") };
  return ServerCredentials.createSsl(pem("PROVIDER_PLUGIN_TLS_CA"), [pair], true);
}
