// The services as grpc-js calls them.

import type { DescService, Message } from "@bufbuild/protobuf";
import {
  type handleUnaryCall,
  type Metadata,
  type sendUnaryData,
  type ServerUnaryCall,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";

import { DiscoveryService } from "../contract/crossbridge/provider/v1alpha1/discovery_service_pb.js";
import { PluginService } from "../contract/crossbridge/provider/v1alpha1/plugin_service_pb.js";
import { ResourceService } from "../contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import { Rejection } from "../failure.js";
import { listExternal } from "../service/discovery-service.js";
import type { Arrival } from "../service/metadata.js";
import { checkConfig, getPluginInfo, getResourceKind, listResourceKinds } from "../service/plugin-service.js";
import { createResource, deleteResource, observe, pollOperation, updateResource } from "../service/resource-service.js";
import type { Service } from "../service/service.js";
import type { Running } from "./drain.js";

// A service's methods have requests of their own.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Handler = (service: Service, request: any, arrival: Arrival) => Message | Promise<Message>;

/** The contract's services that a plugin serves. */
export function services(service: Service, running: Running): [DescService, UntypedServiceImplementation][] {
  const handlers = (methods: Record<string, Handler>): UntypedServiceImplementation =>
    Object.fromEntries(Object.entries(methods).map(([name, handler]) => [name, unary(service, running, handler)]));
  const all: [DescService, UntypedServiceImplementation][] = [
    [PluginService, handlers({ getPluginInfo, listResourceKinds, getResourceKind, checkConfig })],
    [ResourceService, handlers({ observe, create: createResource, update: updateResource, delete: deleteResource, pollOperation })],
  ];
  if (service.declared.listsExternal) all.push([DiscoveryService, handlers({ listExternal })]);
  return all;
}

function unary(service: Service, running: Running, handler: Handler): handleUnaryCall<Message, Message> {
  return (call, send) => {
    running.begin();
    const answered = (...answer: Parameters<sendUnaryData<Message>>): void => {
      running.end();
      send(...answer);
    };
    Promise.resolve()
      .then(() => handler(service, call.request, arrivalOf(call)))
      .then(
        (response) => {
          answered(null, response);
        },
        (error: unknown) => {
          if (error instanceof Rejection) {
            answered({ code: error.status, details: error.message });
            return;
          }
          // A bug of the SDK: its type and place, as the text may hold anything.
          service.log.error("a bug of the SDK", { type: error instanceof Error ? error.constructor.name : typeof error, at: placeOf(error) });
          answered({ code: status.INTERNAL, details: "internal error in the SDK; see the log of the plugin" });
        },
      );
  };
}

const placeOf = (error: unknown): string | undefined =>
  error instanceof Error
    ? (error.stack ?? "")
        .split("\n")
        .filter((line) => /^ {4}at /.test(line))
        .slice(0, 4)
        .map((line) => line.trim())
        .join(" < ")
    : undefined;

function arrivalOf(call: ServerUnaryCall<Message, Message>): Arrival {
  const controller = new AbortController();
  call.on("cancelled", () => {
    controller.abort();
  });
  if (call.cancelled) controller.abort();
  const deadline = Number(call.getDeadline());
  return {
    timeout: Number.isFinite(deadline) ? deadline - Date.now() : undefined,
    metadata: (key) => text(call.metadata, key),
    cancelled: controller.signal,
  };
}

const text = (metadata: Metadata, key: string): string | undefined => {
  const [value] = metadata.get(key);
  return value === undefined ? undefined : String(value);
};
