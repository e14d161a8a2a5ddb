// One managed resource: what a bridge would know of it, and the calls that it would send.

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";

import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";

import type { Outcome } from "../contract/crossbridge/provider/v1alpha1/outcome_pb.js";
import {
  CreateRequestSchema,
  DeleteRequestSchema,
  ObserveRequestSchema,
  PollOperationRequestSchema,
  UpdateRequestSchema,
} from "../contract/crossbridge/provider/v1alpha1/resource_service_pb.js";
import type { ConfigContext, DesiredStateSchema, TargetSchema } from "../contract/crossbridge/provider/v1alpha1/target_pb.js";
import { milliseconds } from "../duration.js";
import { Rejection } from "../failure.js";
import { type Json, toJson, writeJson } from "../json.js";
import type { Kind } from "../kind.js";
import type { PublishedKind } from "../published.js";
import { readJson } from "../schema/document.js";
import type { Arrival } from "../service/metadata.js";
import { createResource, deleteResource, observe, pollOperation, updateResource } from "../service/resource-service.js";
import { Answer, ObserveAnswer, type ReadDocument } from "./answers.js";
import type { Service } from "../service/service.js";

/** Where a test resource sends its calls: a lab. */
export interface PluginProcess {
  readonly service: Service;
  arrival(timeout: number): Arrival;
  config(): ConfigContext;
}

/** Between two polls, where the operation sets no `pollAfter`. */
const PAUSE = 10;
/** How long an operation is followed, where the kind sets no limit. */
const PATIENCE = 60_000;

/**
 * One managed resource in the test's hands. Beside its desired state it holds what the plugin's answers reported, and what a bridge stores: the token,
 * the external name, the provider state, the etag, the handle of an operation. A call that is cut off teaches it nothing.
 */
export class TestResource<P, S> {
  /** The token of its creation: the same at every repeat. */
  readonly token = randomUUID();
  readonly ownershipMarker = `cb-lab-${randomUUID().replaceAll("-", "")}`;
  /** The name that is known by now; empty: none. */
  externalName = "";
  /** What the plugin last gave to be handed back; empty: nothing. */
  providerState = "";
  etag = "";
  /** Of the operation that runs; empty: none. */
  handle = "";
  #givenName = "";
  #generation = 1n;
  readonly #uid = randomUUID();
  readonly #sensitive: Record<string, string> = {};
  readonly #published: PublishedKind;

  constructor(
    private lab: PluginProcess,
    { declaration: { group, version, kind } }: Kind<P, S>,
    private parameters: Json,
  ) {
    this.#published = lab.service.kind({ group, version, kind });
  }

  /** The external name that the user gives. */
  named(name: string): this {
    this.#givenName = name;
    this.externalName = name;
    return this;
  }

  /** The value of a sensitive field, by its JSON Pointer. */
  sensitive(pointer: string, value: string): this {
    this.#sensitive[pointer] = value;
    return this;
  }

  /** Replaces the desired parameters from now on. */
  set(parameters: P): this {
    this.parameters = toJson(parameters);
    this.#generation += 1n;
    return this;
  }

  /** Sends its calls to another replica of the plugin from now on. */
  via(process: PluginProcess): this {
    this.lab = process;
    return this;
  }

  /** Sends Observe, and keeps the name, state and etag of the answer. */
  async observe(): Promise<ObserveAnswer<P, S>> {
    const answer = await this.send(ObserveRequestSchema, { target: this.target(), desired: this.desired() }, observe);
    if (!(answer instanceof Error) && answer.result.case === "observation") {
      const { externalName, providerState, etag } = answer.result.value;
      this.learn(externalName, providerState);
      this.etag = etag;
    }
    return new ObserveAnswer(answer, this.read);
  }

  /** Asks for its creation, for the first time. */
  create(): Promise<Answer<P, S>> {
    return this.createOnce(false);
  }

  /** Asks again, as a bridge that does not know how the first call ended. */
  repeat(): Promise<Answer<P, S>> {
    return this.createOnce(true);
  }

  private createOnce(outcomeUnknown: boolean): Promise<Answer<P, S>> {
    const target = { ...this.target(), externalName: this.#givenName };
    return this.learned(
      this.send(CreateRequestSchema, { target, desired: this.desired(), clientRequestToken: this.token, outcomeUnknown }, createResource),
    );
  }

  /** Sends Update with the desired state. */
  update(): Promise<Answer<P, S>> {
    return this.learned(this.send(UpdateRequestSchema, { target: this.target(), desired: this.desired(), etag: this.etag }, updateResource));
  }

  /** Sends Delete, which may answer with an operation to follow. */
  delete(): Promise<Answer<P, S>> {
    return this.learned(this.send(DeleteRequestSchema, { target: this.target(), desired: this.desired(), etag: this.etag }, deleteResource));
  }

  /** Asks once where the operation has got to. */
  poll(): Promise<Answer<P, S>> {
    return this.learned(
      this.send(PollOperationRequestSchema, { target: this.target(), desired: this.desired(), handle: this.handle }, pollOperation),
    );
  }

  /** Polls until the operation has ended, no sooner than it asks to be; the last answer. What is no operation is its own end. */
  async follow(first: Answer<P, S>): Promise<Answer<P, S>> {
    const { create: limit } = this.#published.kind.timeouts ?? {};
    const until = Date.now() + (limit === undefined ? PATIENCE : milliseconds(limit));
    let answer = first;
    while (answer.isOperation) {
      if (Date.now() > until) throw new Error(`the operation did not end in time: ${answer.operation().handle}`);
      await setTimeout(answer.operation().pollAfter ?? PAUSE);
      answer = await this.poll();
    }
    return answer;
  }

  /**
   * Recovers a creation with an unknown outcome, as the bridge would by the recovery that the kind declares: it observes, by name or marker, or asks again
   * with the same token, and follows the operation if there is one.
   *
   * @throws Error if its name is unknown then, a repeat fails otherwise than by ALREADY_EXISTS or CONFLICT, or the kind declares no recovery
   */
  async recover(): Promise<void> {
    const { createRecovery: [recovery] = [], consistencyWindow = {}, lateMargin = {} } = this.#published.kind;
    if (recovery === undefined) throw new Error(`${this.#published.typeName} declares no recovery: a person is asked`);
    const window = milliseconds(consistencyWindow) + milliseconds(lateMargin);
    if (recovery !== "token") {
      await setTimeout(window);
      const observed = await this.observe();
      if (observed.isFound) return;
      observed.absent();
    }
    // Once to resolve it, once more to see that it is resolved.
    for (let count = 0; count < 2; count += 1) {
      const answer = await this.follow(await this.repeat());
      const { failureCode: code } = answer;
      if (code !== undefined && code !== "ALREADY_EXISTS" && code !== "CONFLICT")
        throw new Error(`a repeat failed: ${code}: ${answer.failure().message}`);
      await setTimeout(window);
    }
    if (this.externalName === "") throw new Error("after the repeat its name is unknown");
  }

  private target(): MessageInitShape<typeof TargetSchema> {
    const { group, version, kind, clusterScoped = false } = this.#published.kind;
    return {
      resourceType: { group, version, kind },
      config: this.lab.config(),
      owner: { namespace: clusterScoped ? "" : "lab", name: "thing", uid: this.#uid, generation: this.#generation },
      externalName: this.externalName,
      ownershipMarker: this.ownershipMarker,
      providerState: this.providerState,
    };
  }

  private desired(): MessageInitShape<typeof DesiredStateSchema> {
    return { parameters: { json: writeJson(this.parameters) }, sensitiveValues: { ...this.#sensitive } };
  }

  /** As on the wire, encoded and decoded. */
  private async send<D extends DescMessage, A>(
    schema: D,
    request: MessageInitShape<D>,
    call: (service: Service, request: MessageShape<D>, arrival: Arrival) => Promise<A>,
  ): Promise<A | Rejection> {
    const sent = fromBinary(schema, toBinary(schema, create(schema, request)));
    const timeout = milliseconds(this.#published.kind.timeouts?.call ?? { seconds: 30 });
    const arrival = this.lab.arrival(timeout);
    try {
      return await call(this.lab.service, sent, arrival);
    } catch (error) {
      // A dead plugin answers nothing.
      if (error instanceof Rejection && !arrival.cancelled.aborted) return error;
      throw error;
    }
  }

  /** Takes in what a bridge would store. */
  private async learned(sent: Promise<{ outcome?: Outcome | undefined } | Rejection>): Promise<Answer<P, S>> {
    const answer = await sent;
    if (answer instanceof Error) return new Answer(answer, this.read);
    const { outcome } = answer;
    if (outcome === undefined) throw new Error("the answer has no outcome");
    this.learn(outcome.externalName, outcome.providerState);
    this.handle = outcome.result.case === "operation" ? outcome.result.value.handle : "";
    if (outcome.result.case === "operation") this.etag = "";
    if (outcome.result.case === "completed") this.etag = outcome.result.value.observation?.etag ?? "";
    return new Answer(outcome, this.read);
  }

  private learn(externalName: string, providerState: string): void {
    if (this.externalName === "") this.externalName = externalName;
    // Unset keeps the former one.
    if (providerState !== "") this.providerState = providerState;
  }

  private readonly read: ReadDocument = ({ json }, what) => readJson(this.#published[what], json);
}
