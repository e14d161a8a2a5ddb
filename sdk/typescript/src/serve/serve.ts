// Serving a plugin: endpoint, transport, health, reflection, drain.

import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation } from "grpc-health-check";

import { Health } from "../contract/health/v1/health_pb.js";
import { declare, type PluginDeclaration } from "../plugin.js";
import { DeclarationError } from "../published.js";
import { runningCall } from "../service/guard.js";
import { Service } from "../service/service.js";
import { onlyFromClientName } from "./client-name.js";
import { definition, files } from "./descriptors.js";
import { drain, Running } from "./drain.js";
import { type Endpoint, parseEndpoint, ServeError } from "./endpoint.js";
import { services } from "./handlers.js";
import { mutualTls } from "./tls.js";
import { bindSocket } from "./unix-socket.js";

/** The environment variable that names the address to serve. */
const ENDPOINT = "PROVIDER_PLUGIN_ENDPOINT";

/** How a plugin is served, where not by its environment. */
export interface ServeOptions {
  /** Unset: that of `PROVIDER_PLUGIN_ENDPOINT`. */
  endpoint?: string;
  /** Stops serving, beside SIGTERM and SIGINT. */
  signal?: AbortSignal;
  /** Unset: `process.env`. */
  environment?: NodeJS.ProcessEnv;
}

/**
 * Serves a plugin until the signal is aborted; then running calls end, and it returns. The process's own signals are the caller's matter: `run` has them.
 *
 * @throws DeclarationError, ServeError
 */
export async function serve(plugin: PluginDeclaration, { endpoint, signal, environment = process.env }: ServeOptions = {}): Promise<void> {
  const declared = declare(plugin);
  const address = endpoint ?? environment[ENDPOINT];
  if (address === undefined || address === "") {
    throw new ServeError(
      `set ${ENDPOINT} to the address at which the bridge finds this plugin: unix:///path, https://host:port, or http://127.0.0.1:port`,
    );
  }
  const { log, maxMessageBytes } = declared;
  const at = parseEndpoint(address);
  const demanded = "tls" in at && at.tls ? onlyFromClientName(environment) : undefined;
  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    interceptors: demanded === undefined ? [] : [demanded],
  });
  const running = new Running();
  const served = services(new Service(declared), running);
  for (const [service, implementation] of served) server.addService(definition(service), implementation);
  const names = ["", ...served.map(([{ typeName }]) => typeName)];
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, "SERVING"])));
  health.addToServer(server);
  // Meant for definitions of another loader: it reads their encoded files only.
  new ReflectionService({ all: { fileDescriptorProtos: files([...served.map(([service]) => service), Health]) } } as never).addToServer(server);

  const release = await bind(server, at, address, environment, log);
  try {
    log.info("serving", { plugin: plugin.name, version: plugin.version, endpoint: address });
    if (signal !== undefined && !signal.aborted) {
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve, { once: true });
      });
    } else if (signal === undefined) await new Promise(() => undefined);
    log.info("stopping: running calls may end, no new ones begin");
    for (const name of names) health.setStatus(name, "NOT_SERVING");
    await drain(server, running);
  } finally {
    await release();
  }
  log.info("stopped");
}

/** Binds the server; the function that lets go of what was bound. */
async function bind(
  server: Server,
  at: Endpoint,
  endpoint: string,
  environment: NodeJS.ProcessEnv,
  log: Parameters<typeof mutualTls>[1],
): Promise<() => Promise<void>> {
  const listen = (address: string, credentials: ServerCredentials): Promise<void> =>
    new Promise((resolve, reject) => {
      server.bindAsync(address, credentials, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  if ("path" in at) {
    const file = await bindSocket(at.path, (path) => listen(`unix:${path}`, ServerCredentials.createInsecure()));
    return () => file.remove();
  }
  const tls = at.tls ? await mutualTls(environment, log) : undefined;
  try {
    await listen(at.address, tls?.credentials ?? ServerCredentials.createInsecure());
  } catch (error) {
    tls?.close();
    throw new ServeError(`cannot serve at ${endpoint}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return () => {
    tls?.close();
    return Promise.resolve();
  };
}

/**
 * Serves a plugin as a process: at `PROVIDER_PLUGIN_ENDPOINT`, until SIGTERM or SIGINT, and exits with 0 when running calls have ended. A mistake is
 * printed, and the exit code is 1. An error that no promise of a call carries ends that call only.
 */
export async function run(plugin: PluginDeclaration): Promise<never> {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      stop.abort();
    });
  }
  const contain = (error: unknown): void => {
    const call = runningCall.getStore();
    if (call?.isOver === false) {
      call.fail(error);
      return;
    }
    // Its text may hold anything.
    const place =
      error instanceof Error
        ? (error.stack ?? "")
            .split("\n")
            .filter((line) => /^ {4}at /.test(line))
            .slice(0, 6)
        : [];
    process.stderr.write(
      `an error outside of any running call: ${error instanceof Error ? error.constructor.name : typeof error}${place.map((line) => `\n${line}`).join("")}\n`,
    );
  };
  process.on("uncaughtException", contain);
  process.on("unhandledRejection", contain);
  try {
    await serve(plugin, { signal: stop.signal });
  } catch (error) {
    const isExpected = error instanceof ServeError || error instanceof DeclarationError;
    process.stderr.write(`${isExpected ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
    process.exit(1);
  }
  process.exit(0);
}
