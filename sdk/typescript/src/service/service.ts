// The contract's services over a plugin's kinds, without the wire.

import type { DescMessage, Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";

import type { CallContext } from "../call.js";
import { Config } from "../config.js";
import type { ConfigContext } from "../contract/crossbridge/provider/v1alpha1/target_pb.js";
import { asFailure, Bug, type ErrorTable } from "../errors.js";
import { Failure, Rejection } from "../failure.js";
import { callFields, type Logger } from "../log.js";
import type { Declared } from "../plugin.js";
import { type PublishedKind, typeNameOf } from "../published.js";
import { scrubbed, Secrets } from "../secrets.js";
import { Violation } from "../violation.js";
import { type Broken, invalidAnswer } from "./answer.js";
import { guarded, Permits } from "./guard.js";
import { type Arrival, CallMetadata } from "./metadata.js";
import { checkRequest, objectOf } from "./request.js";

/** A request with its metadata read and its form checked. */
export interface Accepted<R> {
  request: R;
  metadata: CallMetadata;
  arrival: Arrival;
  /** What may stand in no text that leaves. */
  secrets: readonly string[];
}

/** The code that a call is for: what its errors mean, and where it stands. */
export interface Author {
  errors?: ErrorTable;
  declaredAt?: string | undefined;
}

/** What all services share. */
export class Service {
  readonly log: Logger;
  readonly #permits: Permits;

  constructor(readonly declared: Declared) {
    this.log = declared.log;
    this.#permits = new Permits(declared.maxConcurrentCalls);
  }

  /** @throws Rejection NOT_FOUND */
  kind(type: { group: string; version: string; kind: string } | undefined): PublishedKind {
    const name = typeNameOf(type);
    const found = this.declared.kinds.find(({ typeName }) => typeName === name);
    if (found === undefined) throw new Rejection(status.NOT_FOUND, `${this.declared.declaration.name} does not serve ${name}`);
    return found;
  }

  /**
   * The config of a call, as authors see it.
   *
   * @throws Failure CREDENTIALS_EXPIRED for stale credentials, UNAUTHENTICATED where a required one is missing
   */
  config(wire: ConfigContext): Config {
    const expiry = wire.credentialsExpireTime && timestampDate(wire.credentialsExpireTime);
    const config = new Config(
      wire.configId,
      wire.revision,
      objectOf(wire.settings, "settings"),
      new Secrets(Object.entries(wire.credentials)),
      expiry,
    );
    if (expiry !== undefined && expiry.getTime() <= Date.now()) throw Failure.credentialsExpired("the provider config's credentials have expired");
    if (config.isAmbient) return config;
    for (const [key, { required = false }] of Object.entries(this.declared.declaration.credentials ?? {})) {
      if (required && (config.credential(key)?.length ?? 0) === 0) config.requiredCredential(key);
    }
    return config;
  }

  /** Runs the author's code with a permit, until the call's deadline. */
  guarded<T>(context: Omit<CallContext, "signal">, cancelled: AbortSignal, work: (context: CallContext) => Promise<T>): Promise<T> {
    return guarded(this.#permits, context.deadline, cancelled, (signal) => work({ ...context, signal }));
  }

  /**
   * One call: its metadata and form are checked, and how it ended is logged. `work` answers; a failure that it throws goes where `failed` puts it, and a
   * rejection becomes the call's status.
   *
   * @throws Rejection
   */
  async call<R extends Message, A>(
    { rpc, schema, request, arrival, check, fields = {} }: Call<R>,
    work: (accepted: Accepted<R>) => Promise<A>,
    failed: (failure: Failure, secrets: readonly string[], broken: Broken) => A,
    author: Author = {},
  ): Promise<A> {
    const secrets = secretsOf(request);
    const id = arrival.metadata("crossbridge-call-id") ?? "";
    return callFields.run({ rpc, call_id: id, ...fields }, async () => {
      try {
        const metadata = CallMetadata.read(arrival);
        return await callFields.run(
          { ...callFields.getStore(), trace_id: metadata.trace?.traceId, parent_span_id: metadata.trace?.parentSpanId },
          async () => {
            const accepted = { request, metadata, arrival, secrets };
            check.deadline?.(metadata);
            checkRequest(reflect(schema, request), check.form);
            return await work(accepted);
          },
        );
      } catch (error) {
        const failure = this.failure(error, author);
        if (failure instanceof Failure) return failed(failure, secrets, this.broken(author));
        this.log.info("rejected", { code: status[failure.status], message: scrubbed(failure.message, secrets) });
        throw new Rejection(failure.status, scrubbed(failure.message, secrets));
      }
    });
  }

  /** Of this author's code: logs which field it is. */
  broken({ declaredAt }: Author): Broken {
    return (violation) => {
      this.log.error("the plugin's answer breaks the contract", { field: violation.field, declared_at: declaredAt });
      return invalidAnswer(violation);
    };
  }

  /** The code that serves a type, if one does. */
  author(type: { group: string; version: string; kind: string } | undefined): Author {
    const kind = this.declared.kinds.find(({ typeName }) => typeName === typeNameOf(type));
    return { errors: kind?.kind.errors ?? {}, declaredAt: kind?.declaredAt };
  }

  /** What an error means, by the tables of the kind and the plugin; a bug is logged by its type and place. */
  failure(error: unknown, { errors = {}, declaredAt }: Author = {}): Failure | Rejection {
    if (error instanceof Violation) return this.broken({ declaredAt })(error);
    const failure = asFailure(error, { ...this.declared.declaration.errors, ...errors });
    if (!(failure instanceof Bug)) return failure;
    const [type = "", ...places] = failure.places;
    this.log.error("a bug", { type, at: places.slice(0, 6).join(" < "), declared_at: declaredAt });
    return failure.failure;
  }

  /** The context that the author's code gets, but for its signal. */
  context(config: Config, metadata: CallMetadata, changes: boolean): Omit<CallContext, "signal"> {
    return { config, deadline: metadata.deadline(changes), id: metadata.callId, trace: metadata.trace, log: this.log };
  }
}

/** A call as it arrives, and what is checked of it. */
export interface Call<R> {
  rpc: string;
  schema: DescMessage;
  request: R;
  arrival: Arrival;
  check: { deadline?: (metadata: CallMetadata) => void; form?: () => void };
  /** For the log. */
  fields?: Record<string, string>;
}

/** The credentials and sensitive values of any request. */
function secretsOf(request: unknown): readonly string[] {
  const { target, config, desired } = request as {
    target?: { config?: ConfigContext };
    config?: ConfigContext;
    desired?: { sensitiveValues: Record<string, string> };
  };
  const credentials = (config ?? target?.config)?.credentials ?? {};
  const sensitive = Object.entries(desired?.sensitiveValues ?? {}).map(([key, value]) => [key, Buffer.from(value)] as const);
  return [...new Secrets(Object.entries(credentials)).texts(), ...new Secrets(sensitive).texts()];
}

/** For callers without a body to put a failure into. */
export const asStatus = (failure: Failure): never => {
  throw new Rejection(status.INTERNAL, failure.message);
};
