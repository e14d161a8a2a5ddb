// Where a plugin is served, as PROVIDER_PLUGIN_ENDPOINT reports it.

import { isIP } from "node:net";

/** A socket's path, or host and port: in the clear on loopback only. */
export type Endpoint = { path: string } | { address: string; tls: boolean };

/** A path is taken as it is written: nothing in it is escaped. */
export function parse(endpoint: string): Endpoint {
  const [, path] = /^unix:\/\/(\/.+)$/.exec(endpoint) ?? [];
  if (path) return { path };
  const [, scheme, host, port] = /^(https?):\/\/(\[[0-9a-fA-F:.]+\]|[^/:@[\]]+):(\d+)\/?$/.exec(endpoint) ?? [];
  if (host && (scheme === "https" || isLoopback(host))) return { address: `${host}:${port}`, tls: scheme === "https" };
  throw new Error("write unix:///path, https://host:port, or http://127.0.0.1:port on loopback");
}

const isLoopback = (host: string) => host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
