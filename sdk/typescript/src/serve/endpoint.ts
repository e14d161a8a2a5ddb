// Where a plugin is served.

import { isIP } from "node:net";

/** Why a plugin could not be served: what is wrong, and what to do. */
export class ServeError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ServeError";
  }
}

/** A socket's path, or host and port: in the clear on loopback only. */
export type Endpoint = { path: string } | { address: string; tls: boolean };

/**
 * Reads an endpoint. A path is taken as it is written: nothing in it is escaped.
 *
 * @throws ServeError
 */
export function parseEndpoint(endpoint: string): Endpoint {
  const rejected = (why: string): ServeError => new ServeError(`cannot serve at ${JSON.stringify(endpoint)}: ${why}`);
  const [, scheme, rest = ""] = /^([^:/]+):\/\/(.*)$/s.exec(endpoint) ?? [];
  switch (scheme) {
    case undefined:
      throw rejected("write unix:///path, http://127.0.0.1:port or https://host:port");
    case "unix":
      if (!rest.startsWith("/") || rest === "/") throw rejected("a socket needs an absolute path: unix:///path");
      return { path: rest };
    case "http":
    case "https": {
      const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^/:@[\]]+):(\d+)\/?$/.exec(rest) ?? [];
      if (host === undefined || Number(port) > 65_535) throw rejected(`it needs a host and a port: write ${scheme}://host:port`);
      if (scheme === "http" && !isLoopback(host)) {
        throw rejected("plaintext is served on loopback only, as calls carry credentials; use https, or a unix socket");
      }
      return { address: `${host}:${port}`, tls: scheme === "https" };
    }
    default:
      throw rejected(`${scheme} is none of unix, http, https`);
  }
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
