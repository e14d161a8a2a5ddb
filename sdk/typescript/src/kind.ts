// A kind of resource: what it is, and the author's code that serves it.

import type { z } from "zod";

import type { Listed, Observed, Outcome } from "./answer.js";
import type { CreateCall, DeleteCall, ListCall, ObserveCall, PollCall, UpdateCall } from "./call.js";
import type { Duration } from "./duration.js";
import type { ErrorTable } from "./errors.js";
import type { FieldAnnotation } from "./fields.js";

/** API group, version and kind. */
export interface ResourceTypeName {
  /** A DNS subdomain: `s3.aws.example.org`. */
  group: string;
  /** The one served version: `v1alpha1`. */
  version: string;
  /** In PascalCase: `Bucket`. */
  kind: string;
}

/** How external names come about. */
export interface ExternalNameRules {
  /** The user's, by annotation or `metadata.name`; the upstream's, in the answer to create; or derived from the parameters by the plugin. */
  source: "user" | "upstream" | "derived";
  /** One that is valid. */
  example: string;
  /** RE2, anchored. */
  pattern?: string;
  /** At most this many bytes. */
  maxLength?: number;
}

/**
 * How a creation with an unknown outcome is resolved: its name is known beforehand, so that observe finds it; the upstream honors the client request
 * token; or observe with an empty name finds it by its marker, which the creating request itself sets.
 */
export type CreateRecovery = "name" | "token" | "marker";

/** A column for kubectl. */
export interface PrinterColumn {
  name: string;
  type: "integer" | "number" | "string" | "boolean" | "date";
  /** JSONPath in the object: `.status.atProvider.size`. */
  jsonPath: string;
}

/** A key that may appear in the connection details. */
export interface ConnectionKey {
  description?: string;
  /** The upstream gives it only once, around the creation. */
  oneTime?: boolean;
}

/** A fixture for docs, manifests and the conformance kit, checked against the kind's types when the plugin starts. */
export interface Example<P> {
  /** Unique in the kind. */
  name: string;
  /** Where the user gives the name. */
  externalName?: string;
  /** Good for create. */
  create?: P;
  /** Good for an update of the above. */
  update?: P;
  /** Passes the published schema, and is rejected with INVALID_SPEC all the same. */
  invalid?: P;
  /** Invented values of sensitive fields, by JSON Pointer. */
  sensitive?: Readonly<Record<string, string>>;
  /** Examples that must exist first: `Kind/name`. */
  requires?: readonly string[];
}

/** The limits of a kind. Unset: none, of a call 30 s. */
export interface Timeouts {
  /** One call; at most 60 s. */
  call?: Duration;
  /** A whole creation, polls included. */
  create?: Duration;
  update?: Duration;
  delete?: Duration;
}

type AnyObject = z.ZodType<object>;

/** One kind of external resource: `P` is the schema of its parameters, `S` of its status, `F` of a filter of lists. */
export interface KindDeclaration<P extends AnyObject, S extends AnyObject, F extends AnyObject> extends ResourceTypeName {
  /** Unset: the kind in lower case with an `s`. */
  plural?: string;
  /** Unset: the kind in lower case. */
  singular?: string;
  shortNames?: readonly string[];
  /** For kubectl, beside `crossplane`, `managed` and the plugin's own. */
  categories?: readonly string[];
  /** For docs and `kubectl explain`. */
  description?: string;
  /** Not in a namespace. */
  clusterScoped?: boolean;
  /** The desired state. Its fields are annotated with `sensitive`, `immutable` and so on. */
  parameters: P;
  /** What is only observed. Unset: nothing. */
  status?: S;
  printerColumns?: readonly PrinterColumn[];
  externalName: ExternalNameRules;
  /** The meaning of fields by JSON Pointer (`*` for any index or key), where an annotation beside the field is not possible. */
  fields?: Readonly<Record<string, FieldAnnotation>>;
  connectionKeys?: Readonly<Record<string, ConnectionKey>>;
  timeouts?: Timeouts;
  examples?: readonly Example<z.input<P>>[];

  /** In order of preference. None: the bridge stops and a person decides. */
  createRecovery?: readonly CreateRecovery[];
  /** With `token`: how long a token is honored after its first use; `forEver`. */
  tokenRetention?: Duration;
  /** The ownership marker is kept on the resource and read back. Implied by the recovery `marker`. */
  holdsMarker?: boolean;
  /** For this long after a create may have taken effect, absence is not believed. */
  consistencyWindow?: Duration;
  /** How long after its deadline a request that the upstream has accepted may still take effect. */
  lateMargin?: Duration;
  /** What a create creates is visible to observe from the moment at which the upstream has accepted the request. */
  visibleWhenAccepted?: boolean;
  /** The plugin reports what differs (`Observation.differences`), instead of the bridge. */
  pluginCompares?: boolean;
  /** Update is accepted while another operation runs. */
  concurrentUpdate?: boolean;
  /** Delete is accepted while a creation runs. */
  deleteDuringCreate?: boolean;
  /** Kinds of the same group share an upstream rate limit. */
  rateLimitGroup?: string;
  /** It is never created, updated or deleted. */
  observeOnly?: boolean;
  /** Any change needs a replacement. */
  noUpdate?: boolean;
  /** Removing the object leaves the resource. */
  noDelete?: boolean;
  /** It hands out operations: then it must have the method `poll`. A kind that has it may leave this out. */
  asynchronous?: boolean;

  /** Of this kind, before those of the plugin. */
  errors?: ErrorTable;

  /** Reads the external resource. Changes nothing. A failed read is an error, never `absent()`. */
  observe(call: ObserveCall<z.output<P>>): Promise<Observed<z.input<P>, z.input<S>>>;
  /**
   * Creates it, or returns an operation that will. Never takes over what exists. As soon as the upstream has given a name: `call.recordName(name)`;
   * the answer then carries it, however the call ends.
   */
  create?(call: CreateCall<z.output<P>>): Promise<Outcome<z.input<P>, z.input<S>>>;
  /** Changes it in place. Never creates one: absent is `Failure.notFound`. */
  update?(call: UpdateCall<z.output<P>>): Promise<Outcome<z.input<P>, z.input<S>>>;
  /** Removes it. Absent already is `alreadyDone()`. */
  delete?(call: DeleteCall<z.output<P>>): Promise<Outcome<z.input<P>, z.input<S>>>;
  /** Where has an operation got to? Of a kind that hands out operations. */
  poll?(call: PollCall<z.output<P>>): Promise<Outcome<z.input<P>, z.input<S>>>;
  /** One page of what exists; of a kind that can be listed. */
  list?(call: ListCall<z.output<F>>): Promise<Listed<z.input<P>>>;
  listFilter?: F;
}

/** A kind whose types are hidden. */
export type AnyKind = KindDeclaration<AnyObject, AnyObject, AnyObject>;

/** A declared kind: `P` and `S` are what its schemas read. */
export interface Kind<P = unknown, S = unknown> {
  readonly declaration: AnyKind;
  /** File and line of the declaration, for messages. */
  readonly declaredAt: string;
  /** Of the types only. */
  readonly types?: { parameters: P; status: S };
}

/**
 * Declares a kind. Nothing is kept between two calls that the next one cannot do without: it may reach another replica. Mistakes surface when the
 * plugin starts.
 */
export function kind<P extends AnyObject, S extends AnyObject = z.ZodObject, F extends AnyObject = z.ZodObject>(
  declaration: KindDeclaration<P, S, F>,
): Kind<z.input<P>, z.input<S>> {
  return { declaration: declaration, declaredAt: callSite() };
}

/** The file and line of the code that calls the function which calls this. */
function callSite(): string {
  const line = new Error().stack?.split("\n")[3] ?? "";
  const [, place] = /\(?((?:file:\/\/)?\/[^()]*?:\d+):\d+\)?$/.exec(line.trim()) ?? [];
  return place?.replace(/^file:\/\//, "") ?? "";
}
