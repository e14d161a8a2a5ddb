// Runs the vectors of calls over a real socket.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { type DescMethod, type DescService, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { Client, type ClientUnaryCall, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";

import { DiscoveryService } from "../../contract/crossbridge/provider/v1alpha1/discovery_service_pb.js";
import { PluginService } from "../../contract/crossbridge/provider/v1alpha1/plugin_service_pb.js";
import { ResourceService } from "../../contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import { serve } from "../../serve/serve.js";
import { mismatch } from "./matches.js";
import { Stage, vectorPlugin } from "./plugin.js";

/** The folder of the shared vectors, in the repository. */
const FOLDER = new URL("../../../../../tests/vectors/", import.meta.url);
const PATIENCE = 30_000;

export const vectorFile = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as Record<string, unknown>;

interface Expectation {
  answer?: unknown;
  status?: unknown;
  message?: unknown;
  events?: string[];
  withinMs?: number;
  printedLacks?: string[];
}

interface Step {
  call?: string;
  kind?: string;
  start?: string;
  await?: string;
  cancel?: string;
  until?: string[];
  release?: boolean;
  stop?: boolean;
  ended?: boolean;
  restart?: boolean;
  request?: unknown;
  parameters?: object;
  script?: unknown[];
  timeoutMs?: number | null;
  metadata?: Record<string, string>;
  deadlineInMs?: number;
  save?: Record<string, string>;
  expect?: Expectation;
}

/** One vector: a sequence of calls to a plugin of its own. */
export interface Vector {
  name: string;
  rule: string;
  steps: Step[];
}

interface Ended {
  error: ServiceError | null;
  answer: unknown;
  milliseconds: number;
}

/** A call that was begun. */
interface Begun {
  call: ClientUnaryCall;
  ended: Promise<Ended>;
}

export async function runVector(vector: Vector): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "vectors-"));
  const run = new Run(join(folder, "plugin.sock"));
  try {
    await run.start();
    for (const step of vector.steps) await run.take(step);
  } finally {
    await run.end();
    await rm(folder, { recursive: true });
  }
}

class Run {
  readonly #stage = new Stage();
  readonly #saved = new Map<string, unknown>();
  readonly #begun = new Map<string, Begun>();
  #stop = new AbortController();
  #served: Promise<void> = Promise.resolve();
  #client: Client | undefined;

  constructor(private readonly path: string) {}

  async start(): Promise<void> {
    this.#stop = new AbortController();
    this.#served = serve(vectorPlugin(this.#stage), { endpoint: `unix://${this.path}`, signal: this.#stop.signal });
    // Looked at when it has ended.
    this.#served.catch(() => undefined);
    const client = new Client(`unix:${this.path}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    this.#client = client;
    await new Promise<void>((resolve, reject) => {
      client.waitForReady(Date.now() + PATIENCE, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  async end(): Promise<void> {
    this.#stage.released.abort();
    for (const { call } of this.#begun.values()) call.cancel();
    this.#client?.close();
    this.#stop.abort();
    await this.#served;
  }

  async take(step: Step): Promise<void> {
    if (step.call !== undefined) await this.call(step);
    if (step.await !== undefined) await this.judge(this.begun(step.await).ended, step);
    if (step.cancel !== undefined) this.begun(step.cancel).call.cancel();
    if (step.until !== undefined) await this.events(step.until);
    if (step.release) this.#stage.released.abort();
    if (step.stop) this.#stop.abort();
    if (step.ended) await this.#served;
    if (step.restart) {
      this.#client?.close();
      this.#stop.abort();
      await this.#served;
      await this.start();
    }
  }

  private begun(label: string): Begun {
    const begun = this.#begun.get(label);
    assert.ok(begun, `no call ${label}`);
    return begun;
  }

  private async call(step: Step): Promise<void> {
    const begun = this.send(step);
    if (step.start === undefined) await this.judge(begun.ended, step);
    else this.#begun.set(step.start, begun);
  }

  private send({ call = "", kind = "Widget", request, parameters, script, timeoutMs = 20_000, metadata = {}, deadlineInMs }: Step): Begun {
    const [service, method] = methodOf(call);
    const base = vectorFile("base");
    let json = merged(base[`${call}/${kind}`] ?? base[call], request);
    if (parameters !== undefined || script !== undefined) {
      const document = JSON.stringify({ ...parameters, ...(script === undefined ? {} : { script }) });
      json = merged(json, { desired: { parameters: { json: document } } });
    }
    const message = fromJson(method.input, this.replaced(json) as JsonValue);
    const headers = new Metadata();
    for (const [key, value] of Object.entries(metadata)) headers.set(key, value);
    if (deadlineInMs !== undefined) headers.set("crossbridge-deadline-ms", String(Date.now() + deadlineInMs));
    const began = Date.now();
    let sent: ClientUnaryCall | undefined;
    const ended = new Promise<Ended>((resolve) => {
      sent = this.#client?.makeUnaryRequest(
        `/${service.typeName}/${method.name}`,
        (value: Buffer) => value,
        (bytes: Buffer) => toJson(method.output, fromBinary(method.output, bytes)),
        Buffer.from(toBinary(method.input, message)),
        headers,
        timeoutMs === null ? {} : { deadline: began + timeoutMs },
        (error, answer) => {
          resolve({ error, answer, milliseconds: Date.now() - began });
        },
      );
    });
    assert.ok(sent);
    return { call: sent, ended };
  }

  private async judge(answered: Promise<Ended>, { expect = {}, save = {} }: Step): Promise<void> {
    const { error, answer, milliseconds } = await answered;
    if (expect.status !== undefined) {
      assert.ok(error, `answered ${JSON.stringify(answer)}`);
      this.matches(expect.status, status[error.code], "status");
      if (expect.message !== undefined) this.matches(expect.message, error.details, "message");
    } else {
      assert.equal(error, null);
      if (expect.answer !== undefined) this.matches(expect.answer, answer, "answer");
    }
    if (expect.events !== undefined) await this.events(expect.events);
    if (expect.withinMs !== undefined) assert.ok(milliseconds <= expect.withinMs, `${milliseconds} ms`);
    for (const lacked of expect.printedLacks ?? []) {
      assert.ok(this.#stage.printed.length > 0);
      for (const text of this.#stage.printed) assert.ok(!text.includes(lacked), text);
    }
    for (const [path, label] of Object.entries(save)) {
      const value = path.split(".").reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], answer);
      this.#saved.set(label, value);
    }
  }

  private matches(expected: unknown, actual: unknown, at: string): void {
    assert.equal(mismatch(expected, actual, this.#saved, at), undefined);
  }

  private async events(expected: string[]): Promise<void> {
    const until = Date.now() + PATIENCE;
    while (this.#stage.events.length < expected.length && Date.now() < until) await setTimeout(5);
    assert.deepEqual(this.#stage.events, expected);
  }

  /** Puts in what operators stand for. */
  private replaced(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.replaced(item));
    if (typeof value !== "object" || value === null) return value;
    const { $repeat: repeat, $saved: saved } = value as { $repeat?: [string, number]; $saved?: string };
    if (repeat !== undefined) return repeat[0].repeat(repeat[1]);
    if (saved !== undefined) return this.#saved.get(saved);
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.replaced(member)]));
  }
}

function methodOf(name: string): [DescService, DescMethod] {
  for (const service of [PluginService, ResourceService, DiscoveryService]) {
    const method = service.methods.find((candidate) => candidate.name === name);
    if (method !== undefined) return [service, method];
  }
  throw new Error(`the contract has no call ${name}`);
}

/** RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (patch === undefined) return target;
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const object = typeof target === "object" && target !== null && !Array.isArray(target) ? { ...(target as Record<string, unknown>) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(object, key);
    else object[key] = merged(object[key], value);
  }
  return object;
}
