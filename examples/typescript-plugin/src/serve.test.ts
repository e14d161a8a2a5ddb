import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, mock, test } from "node:test";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, type ClientReadableStream } from "@grpc/grpc-js";

import { document, ensureTime, Rejected } from "./call.js";
import { CreateRequestSchema, CreateResponseSchema } from "./contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
} from "./contract/health/v1/health_pb.js";
import type { Kind } from "./kind.js";
import { recipes } from "./recipe.js";
import { serve } from "./serve.js";
import { target, DESIRED } from "./testCalls.js";

/** Milliseconds of a wait that should be short; far below the longest call. */
const LIMIT = 30_000;

/** Why a creation ended that creates nothing until its caller goes away. */
let ended: Promise<unknown>;
let begun: Promise<unknown>;
let folder: string;
let stop: AbortController;
let serving: Promise<void>;
let client: Client;
let watch: ClientReadableStream<HealthCheckResponse>;

beforeEach(async () => {
  mock.method(console, "error", () => {});
  folder = await mkdtemp(join(tmpdir(), "bakery-"));
  let begin: (value?: unknown) => void;
  begun = new Promise((resolve) => (begin = resolve));
  let end: (value?: unknown) => void;
  ended = new Promise((resolve) => (end = resolve));
  const waits: Kind = {
    ...recipes,
    async create(call) {
      begin();
      await once(call.signal, "abort");
      try {
        ensureTime(call);
      } catch (error) {
        end(error);
      }
      throw new Error("its caller is gone");
    },
  };
  stop = new AbortController();
  const path = join(folder, "a b.sock");
  serving = serve(`unix://${path}`, [waits], stop.signal);
  client = new Client(`unix:${path}`, credentials.createInsecure());
  await new Promise<void>((resolve, reject) => client.waitForReady(Date.now() + LIMIT, (error) => (error ? reject(error) : resolve())));
  watch = client.makeServerStreamRequest(
    "/grpc.health.v1.Health/Watch",
    (message) => Buffer.from(toBinary(HealthCheckRequestSchema, message)),
    (bytes) => fromBinary(HealthCheckResponseSchema, bytes),
    create(HealthCheckRequestSchema),
  );
  watch.on("error", () => {});
  assert.equal((await next()).status, Status.SERVING);
});

afterEach(async () => {
  watch.cancel();
  stop.abort();
  client.close();
  await serving;
  mock.restoreAll();
  await rm(folder, { recursive: true });
});

const next = async (): Promise<HealthCheckResponse> => (await once(watch, "data"))[0];

test("an open stream does not hold up the end", { timeout: LIMIT }, async () => {
  const said = next();
  stop.abort();
  assert.equal((await said).status, Status.NOT_SERVING);
  await serving;
});

test("a call ends with its caller", { timeout: LIMIT }, async () => {
  const request = create(CreateRequestSchema, {
    target: target(folder),
    desired: { parameters: document(DESIRED) },
    clientRequestToken: "123e4567-e89b-12d3-a456-426614174000",
  });
  const call = client.makeUnaryRequest(
    "/crossbridge.provider.v1alpha1.ResourceService/Create",
    (message) => Buffer.from(toBinary(CreateRequestSchema, message)),
    (bytes) => fromBinary(CreateResponseSchema, bytes),
    request,
    { deadline: Date.now() + 2 * LIMIT - 1_000 },
    () => {},
  );
  await begun;
  call.cancel();
  assert.ok((await ended) instanceof Rejected);
});
