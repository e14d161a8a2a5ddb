// Mutual TLS from files that the environment names, read anew when they change.

import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";

import { experimental, type ServerCredentials } from "@grpc/grpc-js";

import type { Logger } from "../log.js";
import { ServeError } from "./endpoint.js";

type Provider = experimental.CertificateProvider;

/** Milliseconds between two looks at the files. */
const REFRESH = 5_000;

/** The environment's names of the PEM files: certificate, key, and the authority of those who may call. */
const VARIABLES = ["PROVIDER_PLUGIN_TLS_CERT", "PROVIDER_PLUGIN_TLS_KEY", "PROVIDER_PLUGIN_TLS_CA"] as const;

/** The files as they were read last, and good: certificate, key, authority. */
type Files = readonly [Buffer, Buffer, Buffer];

/** Certificates whose files are watched, until `close`. */
export interface WatchedTls {
  credentials: ServerCredentials;
  close(): void;
}

/**
 * Credentials of a server that demands a certificate of its clients.
 *
 * @throws ServeError
 */
export async function mutualTls(environment: NodeJS.ProcessEnv, log: Logger, refresh = REFRESH): Promise<WatchedTls> {
  const paths = VARIABLES.map((variable) => {
    const path = environment[variable];
    if (path === undefined || path === "") throw new ServeError(`an https endpoint needs mutual TLS: set ${variable} to a PEM file`);
    return path;
  });
  const read = async (): Promise<Files> => {
    const files = await Promise.all(
      paths.map((path, index) =>
        readFile(path).catch((error: unknown) => {
          throw new ServeError(`cannot read the file that ${VARIABLES[index]} names: ${messageOf(error)}`);
        }),
      ),
    );
    const [cert, key, ca] = files as unknown as Files;
    try {
      // A pair that is half written does not fit together.
      createSecureContext({ cert, key, ca });
    } catch (error) {
      throw new ServeError(`the certificate, its key and the authority cannot be used: ${messageOf(error)}`);
    }
    return [cert, key, ca];
  };
  const watched = new CertificateFiles(await read());
  let said = "";
  const timer = setInterval(() => {
    read().then(
      (files) => {
        if (watched.set(files)) log.info("certificates were read anew");
        said = "";
      },
      (error: unknown) => {
        // While they cannot be read, those that were read last count.
        const message = messageOf(error);
        if (message !== said) log.error("certificates were not renewed: the former ones stay in use", { problem: message });
        said = message;
      },
    );
  }, refresh);
  timer.unref();
  return {
    credentials: experimental.createCertificateProviderServerCredentials(watched, watched, true),
    close: () => {
      clearInterval(timer);
    },
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Hands the server what was read last, and what is read later. */
class CertificateFiles implements Provider {
  readonly #authority = new Set<experimental.CaCertificateUpdateListener>();
  readonly #identity = new Set<experimental.IdentityCertificateUpdateListener>();

  constructor(private files: Files) {}

  /** True: they have changed. */
  set(files: Files): boolean {
    if (files.every((file, index) => this.files[index]?.equals(file))) return false;
    this.files = files;
    for (const listener of this.#identity) this.tellIdentity(listener);
    for (const listener of this.#authority) this.tellAuthority(listener);
    return true;
  }

  private tellAuthority(listener: experimental.CaCertificateUpdateListener): void {
    listener({ caCertificate: this.files[2] });
  }

  private tellIdentity(listener: experimental.IdentityCertificateUpdateListener): void {
    listener({ certificate: this.files[0], privateKey: this.files[1] });
  }

  addCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#authority.add(listener);
    // Not before the server watches, too.
    process.nextTick(() => {
      this.tellAuthority(listener);
    });
  }

  removeCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#authority.delete(listener);
  }

  addIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#identity.add(listener);
    process.nextTick(() => {
      this.tellIdentity(listener);
    });
  }

  removeIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#identity.delete(listener);
  }
}
