// The vector plugin, as tests/vectors/README.md describes it.

import { once } from "node:events";
import { connect } from "node:net";
import { inspect } from "node:util";

import * as sdk from "../../index.js";
import {
  alreadyDone,
  completed,
  type ConfigCall,
  Failure,
  found,
  immutable,
  kind,
  type Outcome,
  type ResourceCall,
  sensitive,
  z,
} from "../../index.js";

/** What the runner shares with the plugin. */
export class Stage {
  readonly events: string[] = [];
  readonly printed: string[] = [];
  readonly released = new AbortController();
}

interface Step {
  step: string;
  [field: string]: unknown;
}

const Parameters = z.object({
  size: z.int64().optional().describe("How big."),
  note: immutable(z.string().optional()),
  password: sensitive(z.string().optional()),
  rules: z.array(z.object({ port: z.int32() })).optional(),
  script: z.array(z.looseObject({})).optional(),
});
type Parameters = z.output<typeof Parameters>;

const Status = z.object({ state: z.string().optional() });
export const Settings = z.object({ region: z.string().optional().describe("Where."), retries: z.int64().optional() });

/** An error of the plugin's own, which its table maps. */
class Busy extends Error {
  override name = "Busy";
}

type Verb = "observe" | "create" | "update" | "delete" | "poll";
type AnyCall = ResourceCall & { parameters: Parameters | undefined };

export function vectorPlugin(stage: Stage): sdk.PluginDeclaration {
  /** Carries out the script; undefined: it answers nothing. */
  async function script(verb: Verb, call: AnyCall): Promise<unknown> {
    stage.events.push(`began:${verb}`);
    const context = { prints: false };
    for (const step of (call.parameters?.script ?? []) as Step[]) {
      const answer = await carryOut(stage, verb, call, step, context);
      if (answer === NOTHING) return undefined;
      if (answer === undefined) continue;
      if (context.prints) print(stage, answer);
      return answer;
    }
    return DEFAULT;
  }

  const methods = {
    observe: async (call: sdk.ObserveCall<Parameters>): Promise<never> => {
      const answer = await script("observe", call);
      if (answer !== DEFAULT) return answer as never;
      if (call.externalName === "") return sdk.absent() as never;
      const size = call.parameters?.size;
      return found({ externalName: call.externalName, parameters: size === undefined ? {} : { size } }) as never;
    },
    create:
      (name: string | undefined) =>
      async (call: sdk.CreateCall<Parameters>): Promise<never> => {
        const answer = await script("create", call);
        return (answer === DEFAULT ? completed(undefined, name === undefined ? {} : { externalName: name }) : answer) as never;
      },
    other:
      (verb: "update" | "delete" | "poll") =>
      async (call: AnyCall): Promise<never> => {
        const answer = await script(verb, call);
        return (answer === DEFAULT ? completed() : answer) as never;
      },
  };

  const common = {
    group: "vectors.example.org",
    version: "v1",
    parameters: Parameters,
    status: Status,
    observe: methods.observe,
    delete: methods.other("delete"),
  };
  const widget = kind({
    ...common,
    kind: "Widget",
    description: "A widget.",
    externalName: { source: "user", example: "a-widget", pattern: "[a-z][a-z0-9-]*", maxLength: 20 },
    createRecovery: ["name"],
    connectionKeys: { password: { description: "As it is now." }, endpoint: { description: "Where it listens." } },
    shortNames: ["wi"],
    categories: ["things"],
    printerColumns: [{ name: "SIZE", type: "integer", jsonPath: ".spec.forProvider.size" }],
    consistencyWindow: { seconds: 5 },
    lateMargin: { seconds: 1 },
    visibleWhenAccepted: true,
    rateLimitGroup: "widgets",
    timeouts: { call: { seconds: 5 }, create: { seconds: 600 } },
    examples: [
      {
        name: "plain",
        externalName: "a-widget",
        create: { size: 1n },
        update: { size: 2n },
        invalid: { size: -1n },
        sensitive: { "/password": "invented" },
      },
    ],
    create: methods.create(undefined),
    update: methods.other("update"),
    list: async (call) => list(call),
  });
  const job = kind({
    ...common,
    kind: "Job",
    description: "A job.",
    externalName: { source: "upstream", example: "job-7" },
    createRecovery: ["token", "marker"],
    tokenRetention: sdk.forEver,
    pluginCompares: true,
    deleteDuringCreate: true,
    noUpdate: true,
    connectionKeys: { password: { description: "Given once.", oneTime: true } },
    examples: [{ name: "short", create: {} }],
    create: methods.create("job-7"),
    poll: methods.other("poll"),
  });
  return {
    name: "vectors.example.org",
    version: "1.2.3",
    kinds: [widget, job],
    settings: Settings,
    credentials: { key: { description: "Opens it.", required: true }, other: {} },
    maxConcurrentCalls: 2,
    maxMessageBytes: 65_536,
    errors: { Busy: "CONFLICT" },
    checkConfig,
    log: sdk.textLogger("debug", (line) => stage.printed.push(line)),
  };
}

const DEFAULT = Symbol("the script answers nothing");
const NOTHING = Symbol("nothing is returned");

function print(stage: Stage, ...values: unknown[]): void {
  for (const value of values) {
    stage.printed.push(inspect(value), inspect(value, { depth: null, showHidden: true, getters: false }));
    stage.printed.push(JSON.stringify(value, (_, member: unknown) => (typeof member === "bigint" ? String(member) : member)));
  }
}

async function checkConfig({ config, signal }: ConfigCall): Promise<string> {
  switch (config.settings(Settings).region) {
    case "nowhere":
      throw Failure.invalidConfig("there is no such region");
    case "boom":
      throw new Error("boom");
    case "hang":
      await once(signal, "abort");
      throw signal.reason;
    default:
      return "account-1";
  }
}

async function list({ pageToken, includeParameters }: sdk.ListCall): Promise<sdk.Listed<{ size?: bigint; password?: string }>> {
  const parameters = (value: object): { parameters?: object } => (includeParameters ? { parameters: value } : {});
  const first = { externalName: "a-widget", canonicalId: "id-a", displayName: "A", foundMarker: "cb-1" };
  switch (pageToken) {
    case "":
      return {
        items: [
          { ...first, ...parameters({ size: 1n, password: "sesame-two" }) },
          { externalName: "b-widget", ...parameters({}) },
        ],
        nextPageToken: "2",
      };
    case "2":
      return { items: [{ externalName: "c-widget" }], unreachable: ["north"] };
    case "fail":
      throw Failure.throttled({ seconds: 3 }, "slow down");
    case "boom":
      throw new Error("boom");
    case "nameless":
      return { items: [first, { externalName: "" }] };
    default:
      throw new sdk.InvalidArgument("page_token", "is of no page of this plugin");
  }
}

/** The value of a step's field; what is not given is undefined. */
const text = (step: Step, field: string): string | undefined => step[field] as string | undefined;
const number = (step: Step, field: string): number | undefined => step[field] as number | undefined;

/** Without the members that are undefined. */
const given = <T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;

const padded = (step: Step, field: string): string | undefined => text(step, field)?.padEnd(number(step, "length") ?? 0, "x");

async function carryOut(stage: Stage, verb: Verb, call: AnyCall, step: Step, context: { prints: boolean }): Promise<unknown> {
  switch (step.step) {
    case "note":
      stage.events.push(`${text(step, "field")}=${noted(call, text(step, "field") ?? "", text(step, "text") ?? "")}`);
      return undefined;
    case "check_deadline": {
      const { remaining } = call.deadline;
      if (remaining > 0 && remaining <= (number(step, "milliseconds") ?? 0)) return undefined;
      throw Failure.internal(`${remaining} ms are left`);
    }
    case "hang":
      await once(call.signal, "abort");
      stage.events.push(`stopped:${verb}`);
      throw call.signal.reason;
    case "hold":
      if (!stage.released.signal.aborted) await Promise.race([once(stage.released.signal, "abort"), once(call.signal, "abort")]);
      if (!stage.released.signal.aborted) {
        stage.events.push(`stopped:${verb}`);
        throw call.signal.reason;
      }
      return undefined;
    case "record_name":
      call.recordName(text(step, "text") ?? "");
      return undefined;
    case "print":
      context.prints = true;
      print(stage, call, call.config);
      return undefined;
    case "fail":
      return fail(step);
    case "reject":
      throw new sdk.InvalidArgument(text(step, "field") ?? "", text(step, "message") ?? "");
    case "raise":
      throw await raised(text(step, "error"), text(step, "text") ?? "");
    case "panic":
      return (undefined as unknown as Record<string, { deeper: unknown }>)[text(step, "text") ?? ""]?.deeper;
    case "completed": {
      const connection = text(step, "connectionFrom");
      const details =
        connection === undefined ? detailsOf(step) : { ...detailsOf(step), connectionDetails: { password: noted(call, connection, "") } };
      return step["alreadyDone"] === true ? alreadyDone(undefined, details) : completed(undefined, details);
    }
    case "observed":
      return completed(observation(call, step));
    case "operation":
      return sdk.underWay(operation(step, verb), given({ externalName: text(step, "externalName"), providerState: text(step, "providerState") }));
    case "found":
      return observation(call, step);
    case "absent":
      return sdk.absent(text(step, "externalName"));
    case "return":
      return returned(verb, step);
    default:
      throw new Error(`the vector plugin knows no step ${step.step}`);
  }
}

function returned(verb: Verb, step: Step): unknown {
  if (step["text"] === "nothing") return NOTHING;
  if (step["text"] === "text") return "a text";
  return verb === "observe" ? completed() : found({ externalName: "a-widget", parameters: {} });
}

function noted(call: AnyCall, field: string, marker: string): string {
  const { token, outcomeUnknown, etag, changedPaths, handle } = call as Partial<sdk.CreateCall & sdk.UpdateCall & sdk.PollCall>;
  const { owner, config } = call;
  const values: Record<string, () => string | bigint | boolean | undefined> = {
    call_id: () => call.id,
    external_name: () => call.externalName,
    provider_state: () => call.providerState,
    ownership_marker: () => call.ownershipMarker,
    former_marker: () => call.formerMarker,
    owner: () => `${owner.namespace}/${owner.name}/${owner.uid}/${owner.generation}`,
    token: () => token,
    outcome_unknown: () => outcomeUnknown,
    etag: () => etag,
    changed_paths: () => changedPaths?.join(","),
    handle: () => handle,
    size: () => call.parameters?.size,
    note: () => call.parameters?.note,
    password_field: () => call.parameters?.password,
    password: () => call.sensitive("/password"),
    region: () => config.settings(Settings).region,
    credential: () => Buffer.from(config.credential("key") ?? []).toString(),
    config: () => `${config.id}/${config.revision}`,
    is_ambient: () => config.isAmbient,
    is_ours: () => call.isOurs(marker),
  };
  const value = values[field]?.();
  return value === undefined ? "" : `${value}`;
}

function fail(step: Step): Outcome {
  const code = text(step, "code") ?? "";
  const message = text(step, "message") ?? "";
  const seconds = number(step, "seconds");
  const path = text(step, "path");
  const options = given({
    effect: text(step, "effect")?.toLowerCase() as sdk.Effect | undefined,
    reason: text(step, "reason"),
    retryAfter: seconds === undefined ? undefined : { seconds },
    violations: path === undefined ? undefined : [{ path, message: text(step, "text") ?? "" }],
    upstreamCode: text(step, "upstreamCode"),
    upstreamRequestId: text(step, "upstreamRequestId"),
  });
  const name = code.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  let failure: Failure;
  if (name === "throttled") failure = Failure.throttled({ seconds: seconds ?? 0 }, message, options);
  else if (name === "alreadyExists") failure = Failure.alreadyExists(text(step, "name") ?? "", message, options);
  else
    failure =
      (Failure as unknown as Record<string, (message: string, options: object) => Failure>)[name]?.(message, options) ??
      Failure.internal("no such code");
  const externalName = text(step, "externalName");
  if (externalName === undefined) throw failure;
  return sdk.failed(failure, { externalName });
}

async function raised(error: string | undefined, message: string): Promise<unknown> {
  if (error === "Busy") return new Busy(message || "busy");
  if (error === "Timeout") return new DOMException(message, "TimeoutError");
  if (error !== "Connection") return new RangeError(message);
  // One that the system makes.
  const socket = connect({ host: "127.0.0.1", port: 1 });
  return ((await once(socket, "error").catch((thrown: unknown) => [thrown])) as unknown[])[0];
}

const warningsOf = (step: Step): sdk.Warning[] | undefined => {
  const reason = text(step, "reason");
  return reason === undefined ? undefined : [{ reason, message: text(step, "message") ?? "" }];
};

const detailsOf = (step: Step): sdk.OutcomeDetails =>
  given({
    externalName: text(step, "externalName"),
    canonicalId: text(step, "canonicalId"),
    providerState: padded(step, "providerState"),
    connectionDetails: step["connection"] as Record<string, string> | undefined,
    warnings: warningsOf(step),
  });

function operation(step: Step, verb: Verb): sdk.Operation & { verb: sdk.OperationVerb } {
  const [seconds, hours] = [number(step, "seconds"), number(step, "hours")];
  const own = text(step, "verb")?.toLowerCase() as sdk.OperationVerb | undefined;
  return {
    handle: padded(step, "handle") ?? "",
    ...given({
      verb: own ?? (verb === "poll" || verb === "observe" ? ("create" as const) : undefined),
      pollAfter: seconds === undefined ? undefined : { seconds },
      phase: text(step, "phase"),
      progress: number(step, "progress"),
      message: text(step, "message"),
      pollDriven: step["pollDriven"] as boolean | undefined,
      upstreamOperationId: text(step, "upstreamId"),
      expiresAt: hours === undefined ? undefined : new Date(Date.now() + hours * 3_600_000),
    }),
  } as never;
}

function observation(call: AnyCall, step: Step): sdk.Observation<{ size?: bigint; password?: string }, { state?: string }> {
  const [size, seconds, path, state] = [number(step, "size"), number(step, "seconds"), text(step, "path"), text(step, "status")];
  const isWrong = step["text"] === "wrong parameters";
  const many = Array.from({ length: number(step, "differences") ?? 0 }, (_, index) => ({ path: `/size/${index}` }));
  const single = path === undefined ? undefined : [{ path, needsReplacement: step["needsReplacement"] === true }];
  const differences = many.length > 0 ? many : single;
  return found({
    externalName: text(step, "externalName") ?? call.externalName,
    parameters: isWrong ? { size: "big" as never } : given({ size: size === undefined ? undefined : BigInt(size), password: text(step, "password") }),
    ...given({
      status: state === undefined ? undefined : { state },
      canonicalId: text(step, "canonicalId"),
      providerState: padded(step, "providerState"),
      ready: step["ready"] as boolean | undefined,
      readyMessage: isWrong ? undefined : text(step, "text"),
      etag: text(step, "etag"),
      foundMarker: text(step, "marker"),
      deleting: step["deleting"] as boolean | undefined,
      connectionDetails: step["connection"] as Record<string, string> | undefined,
      observeAfter: seconds === undefined ? undefined : { seconds },
      warnings: warningsOf(step),
      operation: step["handle"] === undefined ? undefined : operation(step, "observe"),
      differences: step["upToDate"] === true ? [] : differences,
    }),
  });
}
