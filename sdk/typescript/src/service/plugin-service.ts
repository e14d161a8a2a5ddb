// PluginService: what the plugin is and what it serves.

import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";

import { ConfigCall } from "../call.js";
import * as pb from "../contract/crossbridge/provider/v1alpha1/plugin_service_pb.js";
import { InvalidArgument, Rejection } from "../failure.js";
import { writeJson } from "../json.js";
import { failureOf } from "./answer.js";
import type { Arrival } from "./metadata.js";
import { asStatus, type Service } from "./service.js";

/** Kinds on one page, where the caller sets no limit. */
const PAGE_SIZE = 100;

export function getPluginInfo({ declared }: Service): pb.GetPluginInfoResponse {
  const { declaration, settingsSchema } = declared;
  return create(pb.GetPluginInfoResponseSchema, {
    name: declaration.name,
    version: declaration.version,
    contractVersions: ["v1alpha1"],
    features: declared.listsExternal ? [pb.Feature.LIST_EXTERNAL] : [],
    instanceId: declared.instanceId,
    maxConcurrentCalls: declared.maxConcurrentCalls,
    maxMessageBytes: BigInt(declared.maxMessageBytes),
    configSchemaJson: settingsSchema === undefined ? "" : writeJson(settingsSchema),
    credentialKeys: Object.entries(declaration.credentials ?? {}).map(([name, { description = "", required = false }]) => ({
      name,
      description,
      required,
    })),
  });
}

export function listResourceKinds(service: Service, request: pb.ListResourceKindsRequest, arrival: Arrival): Promise<pb.ListResourceKindsResponse> {
  const call = { rpc: "ListResourceKinds", schema: pb.ListResourceKindsRequestSchema, request, arrival, check: {} };
  return service.call(call, async () => page(service, request), asStatus);
}

/** The token names the last kind of the page before: it is good on any replica. */
function page({ declared: { kinds } }: Service, { pageSize, pageToken }: pb.ListResourceKindsRequest): pb.ListResourceKindsResponse {
  if (pageSize < 0) throw new InvalidArgument("page_size", "is negative");
  const before = kinds.findIndex(({ typeName }) => typeName === pageToken);
  if (pageToken !== "" && before < 0) throw new InvalidArgument("page_token", "is of no page of this plugin");
  const page = kinds.slice(before + 1, before + 1 + (pageSize === 0 ? PAGE_SIZE : pageSize));
  const last = page.at(-1);
  return create(pb.ListResourceKindsResponseSchema, {
    kinds: page.map(({ wire, digest }) => ({ digest, ...(wire.resourceType === undefined ? {} : { resourceType: wire.resourceType }) })),
    nextPageToken: last === undefined || last === kinds.at(-1) ? "" : last.typeName,
  });
}

export function getResourceKind(service: Service, request: pb.GetResourceKindRequest, arrival: Arrival): Promise<pb.GetResourceKindResponse> {
  const call = { rpc: "GetResourceKind", schema: pb.GetResourceKindRequestSchema, request, arrival, check: {} };
  return service.call(
    call,
    async () => create(pb.GetResourceKindResponseSchema, { resourceKind: service.kind(request.resourceType).wire }),
    asStatus,
  );
}

export function checkConfig(service: Service, request: pb.CheckConfigRequest, arrival: Arrival): Promise<pb.CheckConfigResponse> {
  const check = { deadline: (metadata: { deadline: (changes: boolean) => unknown }) => void metadata.deadline(false) };
  const call = { rpc: "CheckConfig", schema: pb.CheckConfigRequestSchema, request, arrival, check };
  const { declaration } = service.declared;
  return service.call(
    call,
    async ({ metadata }) => {
      if (request.config === undefined) throw new Rejection(status.INVALID_ARGUMENT, "config is required, and is not set");
      const config = service.config(request.config);
      if (declaration.settings !== undefined) config.settings(declaration.settings);
      const identity = await service.guarded(service.context(config, metadata, false), arrival.cancelled, async (context) =>
        declaration.checkConfig?.(new ConfigCall(context)),
      );
      return create(pb.CheckConfigResponseSchema, { identity: identity ?? "" });
    },
    (failure, secrets, broken) => create(pb.CheckConfigResponseSchema, { failure: failureOf(failure, secrets, broken) }),
  );
}
