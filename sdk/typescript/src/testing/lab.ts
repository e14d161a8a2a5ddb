// The plugin under test.

import { create } from "@bufbuild/protobuf";

import type { Kind } from "../kind.js";
import { toJson, writeJson } from "../json.js";
import { textLogger } from "../log.js";
import { declare, type PluginDeclaration } from "../plugin.js";
import { CheckConfigRequestSchema } from "../contract/crossbridge/provider/v1alpha1/plugin_service_pb.js";
import { type ConfigContext, ConfigContextSchema } from "../contract/crossbridge/provider/v1alpha1/target_pb.js";
import { checkConfig } from "../service/plugin-service.js";
import type { Arrival } from "../service/metadata.js";
import { Service } from "../service/service.js";
import { type FailureAnswer, failureAnswer } from "./answers.js";
import { type PluginProcess, TestResource } from "./resource.js";
import { Life } from "./upstream.js";

/** Most points of one creation at which the plugin is killed. */
const MOST_POINTS = 1000;

/** The config of the calls, and the upstream that all lives and replicas share. */
export interface LabOptions<U> {
  /** What the plugin reaches the outside by: a client, a fake of one, `node:fs/promises`, `fetch`. Nothing else outlives a restart. */
  upstream?: U;
  /** The settings of the `ProviderConfig`. */
  settings?: object;
  /** Its credentials; none at all: ambient identity. */
  credentials?: Readonly<Record<string, string>>;
}

/**
 * A plugin in this process, without a socket. Calls go the way that they go in a served plugin: whatever would be rejected on the wire is rejected here,
 * and an answer that would not leave the plugin does not leave it here.
 */
export class Lab<U = undefined> implements PluginProcess {
  #life: Life;
  #service: Service;
  readonly #plugin: (upstream: U) => PluginDeclaration;
  readonly #options: LabOptions<U>;

  /** The plugin is created once now and once at each restart, each time with its own gate to the upstream. */
  constructor(plugin: (upstream: U) => PluginDeclaration, options: LabOptions<U> = {}) {
    this.#plugin = plugin;
    this.#options = options;
    [this.#life, this.#service] = this.begin();
  }

  private begin(): [Life, Service] {
    const life = new Life();
    const plugin = this.#plugin(life.gate(this.#options.upstream as U));
    return [life, new Service(declare({ log: textLogger("error"), ...plugin }))];
  }

  /** Kills the plugin, as `kill -9` does, and creates it anew: later calls come to one that knows nothing of the earlier ones. */
  restart(): void {
    this.#life.die();
    [this.#life, this.#service] = this.begin();
  }

  /** Another process of the same plugin, at the same upstream. */
  replica(): Lab<U> {
    return new Lab(this.#plugin, this.#options);
  }

  /** A managed resource of this kind and desired state, which is not created yet. */
  resource<P, S>(kind: Kind<P, S>, parameters: P): TestResource<P, S> {
    return new TestResource(this, kind, toJson(parameters));
  }

  /** The plugin's verdict on the config: the identity, or the failure. */
  async checkConfig(): Promise<{ identity: string; failure?: FailureAnswer }> {
    const request = create(CheckConfigRequestSchema, { config: this.config() });
    const { identity, failure } = await checkConfig(this.#service, request, this.arrival(30_000));
    return { identity, ...(failure === undefined ? {} : { failure: failureAnswer(failure) }) };
  }

  /**
   * Kills the plugin within a call: at this point, counted from 1, right before or right after a call of the upstream; 0: before the call begins. A
   * call with fewer points goes to its end, and its answer is lost. Either way the plugin is started anew.
   */
  async cutAt(point: number, call: () => Promise<unknown>): Promise<"inside" | "ended"> {
    return this.cutWhen((at) => at === point, point === 0 ? () => new Promise(() => undefined) : call, point === 0);
  }

  /** Kills the plugin at the first point at which this is so: `lab.cutWhen(() => cloud.size === 1, () => thing.create())`. */
  async cutWhen(isDue: (point: number) => boolean, call: () => Promise<unknown>, atOnce = false): Promise<"inside" | "ended"> {
    const life = this.#life;
    const died = new Promise<"inside">((resolve) => {
      life.death.addEventListener("abort", () => {
        resolve("inside");
      });
    });
    life.dieWhen(isDue);
    if (atOnce) life.die();
    const ended = call().then(
      () => "ended" as const,
      (error: unknown) => {
        // A call of a dead plugin ends as the caller sees it: cut off.
        if (life.death.aborted) return died;
        throw error;
      },
    );
    const cut = await Promise.race([died, ended]);
    this.restart();
    return cut;
  }

  /**
   * The kit's `durable/killed-in-create-one-resource`, at every point: the plugin is killed before Create, at each of its points, and at its end, each time
   * with another resource; it is created anew and asked again as the bridge would; and `count` reports how many the upstream then has of it. At last
   * it is removed.
   *
   * @throws Error at the first point after which there is not exactly one
   */
  async killedInCreate<P, S>(
    thing: (number: number) => TestResource<P, S>,
    count: (thing: TestResource<P, S>) => number | Promise<number>,
  ): Promise<void> {
    for (let point = 0; point < MOST_POINTS; point += 1) {
      const one = thing(point);
      const cut = await this.cutAt(point, () => one.create());
      await one.recover();
      const number = await count(one);
      if (number !== 1) {
        const place =
          cut === "ended" ? "when Create had ended and its answer was lost" : point === 0 ? "before Create began" : `at point ${point} of Create`;
        throw new Error(`durable/killed-in-create-one-resource: killed ${place}, there are ${number}`);
      }
      (await one.follow(await one.delete())).completed();
      if (cut === "ended") return;
    }
    throw new Error(`Create has more than ${MOST_POINTS} points`);
  }

  /** For test resources. */
  get service(): Service {
    return this.#service;
  }

  /** For test resources: a call that arrives now, from a caller who goes away when the plugin dies. */
  arrival(timeout: number): Arrival {
    return { timeout, metadata: () => undefined, cancelled: this.#life.death };
  }

  /** For test resources. */
  config(): ConfigContext {
    const { settings, credentials = {} } = this.#options;
    return create(ConfigContextSchema, {
      configId: "lab",
      revision: "1",
      credentials: Object.fromEntries(Object.entries(credentials).map(([key, value]) => [key, new Uint8Array(Buffer.from(value))])),
      ...(settings === undefined ? {} : { settings: { json: writeJson(toJson(settings)) } }),
    });
  }
}
