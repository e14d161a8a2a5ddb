// DiscoveryService: pages of the external resources that exist.

import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";

import { ListCall } from "../call.js";
import * as pb from "../contract/crossbridge/provider/v1alpha1/discovery_service_pb.js";
import { InvalidArgument, Rejection } from "../failure.js";
import { problemText, read } from "../schema/document.js";
import { checkListed, failureOf } from "./answer.js";
import type { Arrival, CallMetadata } from "./metadata.js";
import { listed } from "./outgoing.js";
import { objectOf } from "./request.js";
import type { Service } from "./service.js";

export function listExternal(service: Service, request: pb.ListExternalRequest, arrival: Arrival): Promise<pb.ListExternalResponse> {
  const { pageSize, pageToken, includeParameters, filter, resourceType } = request;
  const check = {
    deadline: (metadata: CallMetadata) => void metadata.deadline(false),
    form: () => {
      if (pageSize < 0) throw new InvalidArgument("page_size", "is negative");
      objectOf(filter, "filter");
    },
  };
  const call = { rpc: "ListExternal", schema: pb.ListExternalRequestSchema, request, arrival, check, fields: { kind: resourceType?.kind ?? "" } };
  return service.call(
    call,
    async ({ metadata }) => {
      const kind = service.kind(resourceType);
      if (kind.kind.list === undefined) throw new Rejection(status.UNIMPLEMENTED, `${kind.typeName} cannot be listed`);
      if (request.config === undefined) throw new Rejection(status.INVALID_ARGUMENT, "config is required, and is not set");
      const common = service.context(service.config(request.config), metadata, false);
      const { value, problems } = read(kind.listFilter, objectOf(filter, "filter"));
      if (problems !== undefined) throw new InvalidArgument("filter", `does not fit the kind's filter: ${problemText(problems)}`);
      const returned = await service.guarded(common, arrival.cancelled, async (context) =>
        kind.kind.list?.(new ListCall(context, value, pageSize, pageToken, includeParameters)),
      );
      const page = listed(kind, returned);
      checkListed(page);
      return page;
    },
    (failure, secrets, broken) => create(pb.ListExternalResponseSchema, { failure: failureOf(failure, secrets, broken) }),
    service.author(resourceType),
  );
}
