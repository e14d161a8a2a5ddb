// PluginService: what this plugin is and what it serves.

import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { create, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { sendUnaryData, ServerUnaryCall, UntypedServiceImplementation } from "@grpc/grpc-js";

import { enter } from "./bakery.js";
import { check, type Failed, Rejected } from "./call.js";
import { ResourceKindSchema } from "./contract/crossbridge/provider/v1alpha1/kind_pb.js";
import * as pb from "./contract/crossbridge/provider/v1alpha1/plugin_service_pb.js";
import { answer, callId } from "./guard.js";
import { type Kind, schema } from "./kind.js";
import { find } from "./resourceService.js";

const SETTINGS = schema({ folder: { type: "string", description: "Where the bakery is, on the plugin's machine. It must exist." } }, ["folder"]);

export function pluginService(kinds: Map<string, Kind>): UntypedServiceImplementation {
  const instanceId = randomUUID();
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  return {
    getPluginInfo: serve(pb.GetPluginInfoRequestSchema, async () =>
      create(pb.GetPluginInfoResponseSchema, {
        name: "bakery.example.org",
        version,
        contractVersions: ["v1alpha1"],
        instanceId,
        configSchemaJson: SETTINGS,
      }),
    ),
    listResourceKinds: serve<pb.ListResourceKindsRequest>(pb.ListResourceKindsRequestSchema, async ({ pageSize, pageToken }) => {
      const names = [...kinds.keys()].sort();
      if (pageSize < 0) throw new Rejected("page_size is negative");
      if (pageToken && !kinds.has(pageToken)) throw new Rejected("page_token is of no page of this plugin");
      const rest = names.filter((name) => name > pageToken);
      const page = rest.slice(0, pageSize || rest.length);
      return create(pb.ListResourceKindsResponseSchema, {
        kinds: page.map((name) => {
          const { described } = find(kinds, kinds.get(name)?.described.resourceType);
          const digest = createHash("sha256").update(toBinary(ResourceKindSchema, described)).digest("hex");
          return { resourceType: described.resourceType!, digest };
        }),
        nextPageToken: page.length < rest.length ? page.at(-1)! : "",
      });
    }),
    getResourceKind: serve<pb.GetResourceKindRequest>(pb.GetResourceKindRequestSchema, async ({ resourceType }) =>
      create(pb.GetResourceKindResponseSchema, { resourceKind: find(kinds, resourceType).described }),
    ),
    checkConfig: serve<pb.CheckConfigRequest>(
      pb.CheckConfigRequestSchema,
      async ({ config }) => create(pb.CheckConfigResponseSchema, { identity: await enter(config) }),
      ({ failure }) => create(pb.CheckConfigResponseSchema, { failure }),
    ),
  };
}

/** The bridge asks every few seconds who is there: what goes well is not logged. */
function serve<R extends Message>(schema: DescMessage, work: (request: R) => Promise<Message>, failure?: (failed: Failed) => Message) {
  return (received: ServerUnaryCall<R, Message>, send: sendUnaryData<Message>): void => {
    const checked = async () => {
      check(reflect(schema, received.request));
      return work(received.request);
    };
    answer({ said: `${schema.name} (call ${callId(received.metadata)})`, work: checked, failure, quiet: true }, send);
  };
}
