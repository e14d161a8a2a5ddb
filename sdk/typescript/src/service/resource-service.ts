// ResourceService: the life of one external resource.

import { create, type DescMessage } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";

import { Absent } from "../answer.js";
import { CreateCall, DeleteCall, ObserveCall, PollCall, RecordedName, type ResourceContext, UpdateCall } from "../call.js";
import { Effect as WireEffect, FailureCode as WireCode } from "../contract/crossbridge/provider/v1alpha1/failure_pb.js";
import { type Outcome as WireOutcome, OutcomeSchema } from "../contract/crossbridge/provider/v1alpha1/outcome_pb.js";
import * as pb from "../contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import type { DesiredState } from "../contract/crossbridge/provider/v1alpha1/target_pb.js";

import { Failure, Rejection } from "../failure.js";
import type { JsonObject } from "../json.js";
import type { PublishedKind, Verb } from "../published.js";
import { problemText, read } from "../schema/document.js";
import { Secrets } from "../secrets.js";
import { atMost, pointer, STATE_LIMIT, uuid } from "../violation.js";
import { type AnswerContext, type Broken, checkObserved, failureOf, finished } from "./answer.js";
import type { Arrival } from "./metadata.js";
import { named, observed, outcome } from "./outgoing.js";
import { objectOf } from "./request.js";
import type { Accepted, Service } from "./service.js";

type Request = pb.ObserveRequest | pb.CreateRequest | pb.UpdateRequest | pb.DeleteRequest | pb.PollOperationRequest;

/** What is particular to one method of the service. */
interface Method<R extends Request> {
  rpc: string;
  verb: Verb;
  schema: DescMessage;
  /** Checks beyond the required fields. */
  form?: (request: R) => void;
  /** The author's method on this call. */
  run(kind: PublishedKind, context: ResourceContext, request: R): Promise<unknown>;
}

/** A call that may begin: everything was checked that can reject it. */
interface Begun {
  kind: PublishedKind;
  json: JsonObject;
  recorded: RecordedName;
  answer: () => AnswerContext;
  run: () => Promise<unknown>;
}

const OBSERVE: Method<pb.ObserveRequest> = {
  rpc: "Observe",
  verb: "observe",
  schema: pb.ObserveRequestSchema,
  run: (kind, context) => kind.kind.observe(new ObserveCall(context, known(kind, context))),
};

const CREATE: Method<pb.CreateRequest> = {
  rpc: "Create",
  verb: "create",
  schema: pb.CreateRequestSchema,
  form: ({ clientRequestToken }) => {
    uuid(clientRequestToken, "client_request_token");
  },
  run: async (kind, context, { clientRequestToken, outcomeUnknown }) =>
    kind.kind.create?.(new CreateCall(context, kind.typeName, complete(kind, context), clientRequestToken, outcomeUnknown)),
};

const UPDATE: Method<pb.UpdateRequest> = {
  rpc: "Update",
  verb: "update",
  schema: pb.UpdateRequestSchema,
  form: ({ changedPaths }) => {
    changedPaths.forEach((path, index) => {
      pointer(path, `changed_paths[${index}]`);
    });
  },
  run: async (kind, context, { changedPaths, etag }) => kind.kind.update?.(new UpdateCall(context, complete(kind, context), changedPaths, etag)),
};

const DELETE: Method<pb.DeleteRequest> = {
  rpc: "Delete",
  verb: "delete",
  schema: pb.DeleteRequestSchema,
  run: async (kind, context, { etag }) => kind.kind.delete?.(new DeleteCall(context, known(kind, context), etag)),
};

const POLL: Method<pb.PollOperationRequest> = {
  rpc: "PollOperation",
  verb: "poll",
  schema: pb.PollOperationRequestSchema,
  form: ({ handle }) => {
    atMost(handle, STATE_LIMIT, "handle");
  },
  run: async (kind, context, { handle }) => kind.kind.poll?.(new PollCall(context, known(kind, context), handle)),
};

export function observe(service: Service, request: pb.ObserveRequest, arrival: Arrival): Promise<pb.ObserveResponse> {
  const failed = (failure: Failure, secrets: readonly string[], broken: Broken): pb.ObserveResponse => {
    logFailure(service, failure);
    return create(pb.ObserveResponseSchema, { result: { case: "failure", value: failureOf(failure, secrets, broken) } });
  };
  return service.call(
    callOf(OBSERVE, request, arrival),
    async (accepted) => {
      const { kind, json, answer, run } = begin(service, OBSERVE, accepted);
      const result = observed(kind, await run(), json);
      checkObserved(result, answer());
      service.log.debug(result instanceof Absent ? "absent" : "found");
      return create(pb.ObserveResponseSchema, {
        result: result instanceof Absent ? { case: "absent", value: { externalName: result.externalName } } : { case: "observation", value: result },
      });
    },
    failed,
    service.author(request.target?.resourceType),
  );
}

const change =
  <R extends Request, A>(method: Method<R>, response: (outcome: WireOutcome) => A) =>
  (service: Service, request: R, arrival: Arrival): Promise<A> =>
    service.call(
      callOf(method, request, arrival),
      async (accepted) => {
        const begun = begin(service, method, accepted);
        const wire = finished(await ended(service, begun, method.verb, accepted.secrets), method.verb, begun.answer());
        logOutcome(service, wire);
        return response(wire);
      },
      (failure, secrets, broken) => {
        logFailure(service, failure);
        return response(create(OutcomeSchema, { result: { case: "failure", value: failureOf(failure, secrets, broken) } }));
      },
      service.author(request.target?.resourceType),
    );

export const createResource = change(CREATE, (outcome) => create(pb.CreateResponseSchema, { outcome }));
export const updateResource = change(UPDATE, (outcome) => create(pb.UpdateResponseSchema, { outcome }));
export const deleteResource = change(DELETE, (outcome) => create(pb.DeleteResponseSchema, { outcome }));
export const pollOperation = change(POLL, (outcome) => create(pb.PollOperationResponseSchema, { outcome }));

function callOf<R extends Request>({ rpc, verb, schema, form }: Method<R>, request: R, arrival: Arrival) {
  const { target } = request;
  const changes = verb === "create" || verb === "update" || verb === "delete";
  return {
    rpc,
    schema,
    request,
    arrival,
    check: {
      deadline: (metadata: Accepted<R>["metadata"]) => void metadata.deadline(changes),
      form: () => form?.(request),
    },
    fields: {
      kind: target?.resourceType?.kind ?? "",
      owner: `${target?.owner?.namespace ?? ""}/${target?.owner?.name ?? ""}`,
      external_name: target?.externalName ?? "",
    },
  };
}

/** Everything that can reject the call before the author's code runs. */
function begin<R extends Request>(service: Service, method: Method<R>, { request, metadata, arrival, secrets }: Accepted<R>): Begun {
  const { target } = request;
  const desired: DesiredState | undefined = request.desired;
  // Checked above: what is required is there.
  if (target?.config === undefined || target.owner === undefined) throw new Rejection(status.INVALID_ARGUMENT, "target is required, and is not set");
  const { verb } = method;
  const kind = service.kind(target.resourceType);
  kind.checkCapability(verb);
  kind.checkName(verb, target.externalName);
  const config = service.config(target.config);
  const json = objectOf(desired?.parameters, "parameters");
  const recorded = new RecordedName();
  const sensitive = new Secrets(Object.entries(desired?.sensitiveValues ?? {}).map(([key, value]) => [key, Buffer.from(value)]));
  const rejectsUnmarked = kind.isFoundByMarker && (verb === "delete" || verb === "poll");
  const common = service.context(config, metadata, verb === "create" || verb === "update" || verb === "delete");
  return {
    kind,
    json,
    recorded,
    answer: () => ({
      kind,
      sentName: target.externalName,
      recordedName: recorded.name,
      secrets,
      broken: service.broken(service.author(target.resourceType)),
    }),
    run: () =>
      service.guarded(common, arrival.cancelled, (context) =>
        method.run(
          kind,
          {
            ...context,
            target: { ...target, owner: target.owner ?? { namespace: "", name: "", uid: "", generation: 0n } },
            json,
            sensitive,
            rejectsUnmarked,
            recorded,
          },
          request,
        ),
      ),
  };
}

/** What the author's code made of a call that may change something: its outcome, or the failure that it threw, with the name that it recorded. */
async function ended(service: Service, { kind, json, recorded, answer, run }: Begun, verb: Verb, secrets: readonly string[]): Promise<WireOutcome> {
  // Where the bridge knows the name, a status may stand: that of a poll ends an operation that cannot be read.
  const hasNews = (name: string): boolean => name !== "" && (verb === "create" || name !== answer().sentName);
  let saved = create(OutcomeSchema);
  try {
    const value = await run();
    saved = named(value);
    const { outcome: wire, failure } = outcome(kind, verb, value, json);
    if (failure !== undefined) wire.result = { case: "failure", value: failureOf(failure, secrets, answer().broken) };
    return wire;
  } catch (error) {
    let failure = service.failure(error, service.author(kind.wire.resourceType));
    if (failure instanceof Rejection) {
      if (!hasNews(saved.externalName || recorded.name)) throw failure;
      // A status means that nothing was done, and cannot carry a name.
      const text = `the call ended in the gRPC status ${status[failure.status]} after the upstream had given a name: ${failure.message}`;
      failure = Failure.internal(text, { reason: "StatusAfterName" });
    }
    saved.result = { case: "failure", value: failureOf(failure, secrets, answer().broken) };
    return saved;
  }
}

/**
 * The desired state as the author's type.
 *
 * @throws Failure INVALID_SPEC that names the field
 */
function complete(kind: PublishedKind, { json }: ResourceContext): object {
  const { value, problems } = read(kind.parameters, json);
  if (problems === undefined) return value;
  throw Failure.invalidSpec(problemText(problems), { reason: "InvalidParameters", violations: problems.filter(({ path }) => path !== "") });
}

/** The same, or undefined: it may be incomplete. */
const known = (kind: PublishedKind, { json }: ResourceContext): object | undefined => read(kind.parameters, json).value;

function logFailure(service: Service, { code, effect, reason }: Failure): void {
  service.log.info("failed", { code, effect, reason });
}

function logOutcome(service: Service, { result, externalName }: WireOutcome): void {
  const name = externalName === "" ? {} : { external_name: externalName };
  if (result.case === "failure")
    service.log.info("failed", { code: WireCode[result.value.code], effect: WireEffect[result.value.effect], reason: result.value.reason });
  else if (result.case === "operation") service.log.info("an operation is under way", { ...name, phase: result.value.phase });
  else service.log.info("completed", name);
}
