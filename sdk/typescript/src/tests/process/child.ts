// The plugin's process, and calls of it.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";

import { type CreateResponse, CreateRequestSchema, CreateResponseSchema } from "../../contract/crossbridge/provider/v1alpha1/resource_service_pb.js";

const PATIENCE = 30_000;

/** The plugin's process at a socket. */
export class Child {
  readonly process: ChildProcess;
  #said = "";

  constructor(
    readonly socket: string,
    endpoint = `unix://${socket}`,
  ) {
    this.process = spawn(process.execPath, [fileURLToPath(new URL("plugin.js", import.meta.url))], {
      env: { ...process.env, PROVIDER_PLUGIN_ENDPOINT: endpoint },
      stdio: ["ignore", "inherit", "pipe"],
    });
    this.process.stderr?.on("data", (bytes: Buffer) => (this.#said += bytes.toString()));
  }

  get said(): string {
    return this.#said;
  }

  /** Waits until the process has said this. */
  async says(text: string): Promise<void> {
    while (!this.#said.includes(text)) {
      assert.equal(this.process.exitCode, null, this.#said);
      await once(this.process.stderr ?? this.process, "data");
    }
  }

  /** Waits for its end; its exit code. */
  async end(): Promise<number | null> {
    if (this.process.exitCode === null) await once(this.process, "exit");
    return this.process.exitCode;
  }

  async client(): Promise<Client> {
    const client = new Client(`unix:${this.socket}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    await new Promise<void>((resolve, reject) => {
      client.waitForReady(Date.now() + PATIENCE, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
    return client;
  }
}

/** Creates a thing of this mood. */
export function createThing(client: Client, mood: string, timeout = PATIENCE, headers: Record<string, string> = {}): Promise<CreateResponse> {
  const request = create(CreateRequestSchema, {
    target: {
      resourceType: { group: "things.example.org", version: "v1", kind: "Thing" },
      config: { configId: "one", revision: "1" },
      owner: { namespace: "shop", name: "a", uid: "1" },
      externalName: "a",
      ownershipMarker: "one",
    },
    desired: { parameters: { json: JSON.stringify({ mood }) } },
    clientRequestToken: "123e4567-e89b-12d3-a456-426614174000",
  });
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      "/crossbridge.provider.v1alpha1.ResourceService/Create",
      (message) => Buffer.from(toBinary(CreateRequestSchema, message)),
      (bytes: Buffer) => fromBinary(CreateResponseSchema, bytes),
      request,
      metadata,
      { deadline: Date.now() + timeout },
      (error, response) => {
        if (error) reject(error);
        else if (response) resolve(response);
      },
    );
  });
}
