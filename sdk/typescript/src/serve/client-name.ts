// Which clients are served: those whose certificate bears the name that the environment demands.

import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";

import { ResponderBuilder, ServerInterceptingCall, type ServerInterceptor, ServerListenerBuilder, status } from "@grpc/grpc-js";

import { ServeError } from "./endpoint.js";

const CLIENT_NAME = "PROVIDER_PLUGIN_TLS_CLIENT_NAME";

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/i;

/**
 * Ends each call of a client whose certificate does not bear the name, before anything of it is served. Undefined: every certificate of the authority
 * will do.
 *
 * @throws ServeError
 */
export function onlyFromClientName(environment: NodeJS.ProcessEnv): ServerInterceptor | undefined {
  const name = environment[CLIENT_NAME];
  if (name === undefined || name === "") return undefined;
  if (isIP(name) === 0 && !name.split(".").every((label) => LABEL.test(label))) {
    throw new ServeError(`${CLIENT_NAME} is neither a DNS name nor an IP address: "${name}"`);
  }
  return (_, call) => {
    const certificate = call.getAuthContext().sslPeerCertificate?.raw;
    const refusing = new ServerListenerBuilder()
      .withOnReceiveMetadata(() => {
        call.sendStatus({ code: status.UNAUTHENTICATED, details: `the client's certificate does not bear the name that ${CLIENT_NAME} demands` });
      })
      .build();
    const responder = new ResponderBuilder()
      .withStart((next) => {
        next(certificate !== undefined && bears(new X509Certificate(certificate), name) ? undefined : refusing);
      })
      .build();
    return new ServerInterceptingCall(call, responder);
  };
}

/** Its common name does not count. */
function bears(certificate: X509Certificate, name: string): boolean {
  if (isIP(name) !== 0) return certificate.checkIP(name) !== undefined;
  return certificate.checkHost(name, { subject: "never", partialWildcards: false }) !== undefined;
}
