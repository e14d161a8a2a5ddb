// ResourceService: checks each call, lets its kind work, and answers in form whatever comes.

import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { type sendUnaryData, type ServerUnaryCall, status, type UntypedServiceImplementation } from "@grpc/grpc-js";

import { type Call, cancellation, check, checkToken, deadline, type Failed, invalid, read, Rejected } from "./call.js";
import { CreateRecovery, ExternalNameSource, type ResourceKind } from "./contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { type Outcome, OutcomeSchema } from "./contract/crossbridge/provider/v1alpha1/outcome_pb.js";
import * as pb from "./contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import type { ResourceType } from "./contract/crossbridge/provider/v1alpha1/target_pb.js";
import { answer, callId } from "./guard.js";
import type { Kind } from "./kind.js";

type Request = pb.ObserveRequest | pb.CreateRequest | pb.UpdateRequest | pb.DeleteRequest | pb.PollOperationRequest;

/** One method: what it does, and how its answer reports a failure. */
interface Method<R extends Request> {
  schema: DescMessage;
  changes: boolean;
  work(kind: Kind, call: Call, request: R): Promise<Message>;
  failure(failed: Failed): Message;
}

export function resourceService(kinds: Map<string, Kind>): UntypedServiceImplementation {
  const failure = ({ name, failure }: Failed): Outcome =>
    create(OutcomeSchema, { externalName: name, result: { case: "failure", value: failure as never } });
  return {
    observe: serve<pb.ObserveRequest>(kinds, {
      schema: pb.ObserveRequestSchema,
      changes: false,
      work: async (kind, call) => {
        const observation = await kind.observe(call);
        return create(pb.ObserveResponseSchema, {
          result: observation ? { case: "observation", value: observation } : { case: "absent", value: {} },
        });
      },
      failure: (failed) => create(pb.ObserveResponseSchema, { result: { case: "failure", value: failed.failure as never } }),
    }),
    create: serve<pb.CreateRequest>(kinds, {
      schema: pb.CreateRequestSchema,
      changes: true,
      work: async (kind, call, { clientRequestToken, outcomeUnknown }) => {
        checkToken(clientRequestToken);
        return create(pb.CreateResponseSchema, { outcome: await kind.create(call, clientRequestToken, outcomeUnknown) });
      },
      failure: (failed) => create(pb.CreateResponseSchema, { outcome: failure(failed) }),
    }),
    update: serve<pb.UpdateRequest>(kinds, {
      schema: pb.UpdateRequestSchema,
      changes: true,
      work: async (kind, call, { etag }) => create(pb.UpdateResponseSchema, { outcome: await kind.update(call, etag) }),
      failure: (failed) => create(pb.UpdateResponseSchema, { outcome: failure(failed) }),
    }),
    delete: serve<pb.DeleteRequest>(kinds, {
      schema: pb.DeleteRequestSchema,
      changes: true,
      work: async (kind, call, { etag }) => create(pb.DeleteResponseSchema, { outcome: await kind.delete(call, etag) }),
      failure: (failed) => create(pb.DeleteResponseSchema, { outcome: failure(failed) }),
    }),
    pollOperation: serve<pb.PollOperationRequest>(kinds, {
      schema: pb.PollOperationRequestSchema,
      changes: false,
      work: async (kind, call, { handle }) => create(pb.PollOperationResponseSchema, { outcome: await kind.poll(call, handle) }),
      failure: (failed) => create(pb.PollOperationResponseSchema, { outcome: failure(failed) }),
    }),
  };
}

function serve<R extends Request>(kinds: Map<string, Kind>, method: Method<R>) {
  return (received: ServerUnaryCall<R, Message>, send: sendUnaryData<Message>): void => {
    const { target } = received.request;
    const owner = `${target?.owner?.namespace}/${target?.owner?.name}`;
    const said = `${method.schema.name} of ${target?.resourceType?.kind} for ${owner} (call ${callId(received.metadata)})`;
    const work = async () => {
      const [kind, call] = begin(kinds, received, method);
      return method.work(kind, call, received.request);
    };
    answer({ said, work, failure: method.failure }, send);
  };
}

/** All that can reject a call before its kind is asked. */
function begin<R extends Request>(kinds: Map<string, Kind>, received: ServerUnaryCall<R, Message>, method: Method<R>): [Kind, Call] {
  const { request } = received;
  const end = deadline(received, method.changes);
  check(reflect(method.schema, request));
  const { target, desired } = request;
  if (!target) throw new Rejected("target is required, and is not set");
  const kind = find(kinds, target.resourceType);
  checkName(kind.described, method.schema, target.externalName);
  const parameters = desired ? read(desired.parameters, "desired.parameters") : {};
  return [kind, { target, desired: parameters, secrets: desired?.sensitiveValues ?? {}, deadline: end, signal: cancellation(received) }];
}

export function find(kinds: Map<string, Kind>, type: ResourceType | undefined): Kind {
  const kind = kinds.get(type?.kind ?? "");
  const served = kind?.described.resourceType;
  if (!kind || served?.group !== type?.group || served?.version !== type?.version) {
    throw new Rejected("this plugin does not serve that resource type", status.NOT_FOUND);
  }
  return kind;
}

/** Both kinds get their names from the bakery. */
function checkName({ externalName: rules, capabilities }: ResourceKind, schema: DescMessage, name: string): void {
  const isGivenLater = rules?.source === ExternalNameSource.PROVIDER;
  if (schema === pb.CreateRequestSchema && isGivenLater) {
    if (name) throw new Rejected("target.external_name may not be set: the bakery gives the name");
    return;
  }
  if (!name) {
    const byMarker = capabilities?.createRecovery.includes(CreateRecovery.MARKER);
    if (schema === pb.PollOperationRequestSchema || (schema === pb.ObserveRequestSchema && byMarker)) return;
    throw new Rejected("target.external_name is required, and is not set");
  }
  if (!new RegExp(`^(?:${rules?.pattern})$`).test(name)) throw invalid("", "InvalidName", `A name matches ${rules?.pattern}.`);
  // 0: no limit of its own.
  const longest = rules?.maxLength || Infinity;
  if (Buffer.byteLength(name) > longest) throw invalid("", "InvalidName", `A name has ${longest} bytes at most.`);
}
