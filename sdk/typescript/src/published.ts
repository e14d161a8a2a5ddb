// A kind as it is published, and what its rules require of a call.

import { createHash } from "node:crypto";

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { z } from "zod";

import { checkKind, fieldRules } from "./check-kind.js";
import {
  CreateRecovery as WireRecovery,
  DiffMode,
  ExternalNameSource,
  type KindExampleSchema,
  type ResourceKind,
  ResourceKindSchema,
} from "./contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { type Duration, isDuration, wireDuration } from "./duration.js";
import { Failure, InvalidArgument, Rejection } from "./failure.js";
import { type JsonObject, toJson, writeJson } from "./json.js";
import type { AnyKind, CreateRecovery, Kind } from "./kind.js";
import { problemText, read } from "./schema/document.js";
import { NotStructural } from "./schema/problem.js";
import { notRe2, structural } from "./schema/structural.js";
import { notAllowed, Violation } from "./violation.js";

/** The author declared something that cannot be served: which kind, where it stands, and what is wrong. */
export class DeclarationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DeclarationError";
  }
}

/** The calls about one resource. */
export type Verb = "observe" | "create" | "update" | "delete" | "poll";

const RECOVERY: Record<CreateRecovery, WireRecovery> = {
  name: WireRecovery.DETERMINISTIC_NAME,
  token: WireRecovery.CLIENT_TOKEN,
  marker: WireRecovery.MARKER,
};

const SOURCE = { user: ExternalNameSource.USER, upstream: ExternalNameSource.PROVIDER, derived: ExternalNameSource.DERIVED };

/** A kind, complete and checked. */
export class PublishedKind {
  readonly parameters: z.ZodType<object>;
  readonly status: z.ZodType<object>;
  readonly listFilter: z.ZodType<object>;
  readonly sensitivePaths: readonly string[];
  readonly digest: string;
  /** `Thing.things.example.org/v1` */
  readonly typeName: string;

  private constructor(
    readonly kind: AnyKind,
    readonly wire: ResourceKind,
    /** The file and line that declare it; empty: not known. */
    readonly declaredAt: string,
    private readonly namePattern: RegExp | undefined,
  ) {
    this.parameters = kind.parameters;
    this.status = kind.status ?? z.object({});
    this.listFilter = kind.listFilter ?? z.object({});
    this.sensitivePaths = wire.fieldRules.filter(({ sensitive }) => sensitive).map(({ path }) => path);
    this.digest = createHash("sha256").update(toBinary(ResourceKindSchema, wire)).digest("hex");
    this.typeName = typeNameOf(wire.resourceType);
  }

  /**
   * Puts types and declarations together.
   *
   * @throws DeclarationError on the first mistake
   */
  static of({ declaration, declaredAt }: Kind): PublishedKind {
    const place = declaredAt === "" ? "" : ` (${declaredAt})`;
    try {
      const wire = published(declaration);
      checkKind(wire);
      checkMethods(declaration);
      const kind = new PublishedKind(declaration, wire, declaredAt, namePattern(declaration));
      kind.checkExamples();
      return kind;
    } catch (error) {
      if (error instanceof Violation || error instanceof DeclarationError)
        throw new DeclarationError(`kind ${declaration.kind}${place}: ${error.message}`);
      throw error;
    }
  }

  private checkExamples(): void {
    const names: [string, string][] = [["external_name.example", this.kind.externalName.example]];
    for (const { name, externalName, create: good, update } of this.kind.examples ?? []) {
      if (externalName !== undefined) names.push([`the external name of example ${JSON.stringify(name)}`, externalName]);
      for (const parameters of [good, update]) {
        if (parameters === undefined) continue;
        const { problems } = read(this.parameters, toJson(parameters) as JsonObject);
        if (problems !== undefined)
          throw new DeclarationError(`example ${JSON.stringify(name)} does not fit the parameters: ${problemText(problems)}`);
      }
    }
    for (const [what, name] of names) {
      const problem = this.problemOfName(name);
      if (problem !== undefined) throw new DeclarationError(`${what}: ${problem}`);
    }
  }

  private problemOfName(name: string): string | undefined {
    const { pattern, maxLength = 0 } = this.kind.externalName;
    const length = Buffer.byteLength(name);
    if (maxLength > 0 && length > maxLength) return `${JSON.stringify(name)} has ${length} bytes; at most ${maxLength} are allowed`;
    return this.namePattern?.test(name) === false ? `${JSON.stringify(name)} does not match ${JSON.stringify(pattern)}` : undefined;
  }

  get isFoundByMarker(): boolean {
    return this.kind.createRecovery?.includes("marker") === true;
  }

  /**
   * Whether a call may come with this external name, perhaps none.
   *
   * @throws InvalidArgument for a name where none may be, or none where one must be; Failure INVALID_SPEC for one of a wrong form
   */
  checkName(verb: Verb, name: string): void {
    const { source } = this.kind.externalName;
    const rejected = (problem: string): InvalidArgument => new InvalidArgument("target.external_name", problem);
    if (name === "") {
      if (verb === "update" || verb === "delete") throw rejected("is required, and is not set");
      if (verb === "create" && source === "user") throw rejected("is required: the user gives this kind's names");
      if (verb === "observe" && source !== "derived" && !this.isFoundByMarker)
        throw rejected("is required: this kind cannot be observed without a name");
      return;
    }
    if (verb === "create" && source === "upstream") throw rejected("is not allowed: the upstream gives this kind's names");
    const problem = this.problemOfName(name);
    if (problem === undefined) return;
    throw Failure.invalidSpec(`the external name is not valid: ${problem}`, {
      reason: "InvalidExternalName",
      violations: [{ path: "", message: problem }],
    });
  }

  /**
   * Whether the kind serves a call.
   *
   * @throws Rejection UNIMPLEMENTED
   */
  checkCapability(verb: Verb): void {
    const { observeOnly = false, noUpdate = false, noDelete = false } = this.kind;
    const cannot = {
      observe: false,
      create: observeOnly,
      update: observeOnly || noUpdate,
      delete: observeOnly || noDelete,
      poll: this.kind.poll === undefined,
    };
    if (cannot[verb]) throw new Rejection(status.UNIMPLEMENTED, `${this.typeName} does not serve ${verb}`);
  }

  /** @throws Violation */
  checkConnectionKeys(keys: readonly string[]): void {
    for (const key of keys) {
      if (this.kind.connectionKeys?.[key] === undefined) {
        throw notAllowed(`connection_details[${JSON.stringify(key)}]`, "the kind declares no such connection key");
      }
    }
  }
}

export const typeNameOf = (type: { group: string; version: string; kind: string } | undefined): string =>
  `${type?.kind}.${type?.group}/${type?.version}`;

/** Methods that are missing, where the compiler does not find it. */
function checkMethods(kind: AnyKind): void {
  const { observeOnly = false, noUpdate = false, noDelete = false } = kind;
  const wanted = {
    observe: [true, ""],
    create: [!observeOnly, ", or declare observeOnly"],
    update: [!observeOnly && !noUpdate, ", or declare noUpdate"],
    delete: [!observeOnly && !noDelete, ", or declare noDelete"],
    list: [kind.listFilter !== undefined, ": it has a listFilter"],
    poll: [kind.asynchronous === true, ": it is asynchronous"],
  } as const;
  for (const name of Object.keys(wanted) as (keyof typeof wanted)[]) {
    const [isWanted, advice] = wanted[name];
    if (isWanted && typeof kind[name] !== "function") throw new DeclarationError(`the method ${name} is missing: implement it${advice}`);
    if (kind[name] !== undefined && typeof kind[name] !== "function") throw new DeclarationError(`${name} is no method`);
  }
}

function schemaOf(schema: unknown, what: string): JsonObject {
  if (typeof schema !== "object" || schema === null || !("_zod" in schema))
    throw new DeclarationError(`the type of the ${what} is no schema of zod 4`);
  try {
    return structural(schema as z.ZodType);
  } catch (error) {
    if (error instanceof NotStructural) throw new DeclarationError(`the type of the ${what}: ${error.message}`);
    throw error;
  }
}

function namePattern({ externalName: { pattern } }: AnyKind): RegExp | undefined {
  if (pattern === undefined) return undefined;
  const problem = notRe2(pattern);
  if (problem !== undefined) throw new DeclarationError(`external_name.pattern ${problem}, which RE2 does not know`);
  try {
    return new RegExp(`^(?:${pattern})$`, "u");
  } catch {
    throw new DeclarationError(`external_name.pattern is no regular expression: ${pattern}`);
  }
}

function duration(value: Duration | undefined): ReturnType<typeof wireDuration> | undefined {
  if (value === undefined) return undefined;
  if (!isDuration(value)) throw new DeclarationError(`${JSON.stringify(value)} is no length of time: write { seconds: 30 }`);
  return wireDuration(value);
}

function published(kind: AnyKind): ResourceKind {
  const { observeOnly = false, noUpdate = false, noDelete = false, createRecovery = [], externalName, timeouts = {} } = kind;
  const { pattern = "", maxLength = 0, example, source } = externalName;
  return create(ResourceKindSchema, {
    resourceType: { group: kind.group, version: kind.version, kind: kind.kind },
    plural: kind.plural ?? `${kind.kind.toLowerCase()}s`,
    singular: kind.singular ?? "",
    shortNames: [...(kind.shortNames ?? [])],
    categories: [...(kind.categories ?? [])],
    namespaced: !(kind.clusterScoped ?? false),
    description: kind.description ?? "",
    parametersSchemaJson: writeJson(schemaOf(kind.parameters, "parameters")),
    statusSchemaJson: writeJson(schemaOf(kind.status ?? z.object({}), "status")),
    listFilterSchemaJson: kind.listFilter === undefined ? "" : writeJson(schemaOf(kind.listFilter, "list filter")),
    printerColumns: (kind.printerColumns ?? []).map(({ name, type, jsonPath }) => ({ name, dataType: type, jsonPath })),
    capabilities: {
      canCreate: !observeOnly,
      canUpdate: !observeOnly && !noUpdate,
      canDelete: !observeOnly && !noDelete,
      createRecovery: createRecovery.map((way) => RECOVERY[way]),
      tokenRetention: duration(kind.tokenRetention),
      consistencyWindow: duration(kind.consistencyWindow),
      holdsMarker: kind.holdsMarker ?? createRecovery.includes("marker"),
      diffMode: kind.pluginCompares === true ? DiffMode.PLUGIN : DiffMode.UNSPECIFIED,
      concurrentUpdate: kind.concurrentUpdate ?? false,
      deleteDuringCreate: kind.deleteDuringCreate ?? false,
      rateLimitGroup: kind.rateLimitGroup ?? "",
      lateMargin: duration(kind.lateMargin),
      visibleWhenAccepted: kind.visibleWhenAccepted ?? false,
    },
    externalName: { source: SOURCE[source], pattern, maxLength, example },
    fieldRules: fieldRules(kind),
    connectionKeys: Object.entries(kind.connectionKeys ?? {}).map(([name, { description = "", oneTime = false }]) => ({
      name,
      description,
      oneTime,
    })),
    timeouts: hasTimeouts(timeouts)
      ? {
          callTimeout: duration(timeouts.call),
          createTimeout: duration(timeouts.create),
          updateTimeout: duration(timeouts.update),
          deleteTimeout: duration(timeouts.delete),
        }
      : undefined,
    examples: (kind.examples ?? []).map(exampleOf),
  });
}

const hasTimeouts = (timeouts: object): boolean => Object.values(timeouts).some((limit) => limit !== undefined);

function exampleOf(example: NonNullable<AnyKind["examples"]>[number]): MessageInitShape<typeof KindExampleSchema> {
  const document = (value: unknown): { json: string } | undefined => (value === undefined ? undefined : { json: writeJson(toJson(value)) });
  return {
    name: example.name,
    externalName: example.externalName ?? "",
    createParameters: document(example.create),
    updateParameters: document(example.update),
    invalidParameters: document(example.invalid),
    sensitiveValues: { ...example.sensitive },
    requires: [...(example.requires ?? [])],
  };
}
