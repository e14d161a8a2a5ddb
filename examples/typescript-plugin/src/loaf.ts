// Loaves: baking takes a while, and so does eating. The bakery names them, after the token that ordered them.

import { createHash } from "node:crypto";

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { stringify } from "lossless-json";

import { type Entry, ledger, type Version } from "./bakery.js";
import { type Call, document, Failed, invalid, type Json, owns, Rejected } from "./call.js";
import { FailureCode } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";
import { CreateRecovery, ExternalNameSource, Mutability, ResourceKindSchema } from "./contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { type OperationSchema, OperationVerb } from "./contract/crossbridge/provider/v1alpha1/operation_pb.js";
import { type Outcome, OutcomeSchema } from "./contract/crossbridge/provider/v1alpha1/outcome_pb.js";
import { changed, checkEtag, completed, type Kind, notFound, observed, schema } from "./kind.js";

const FOR_EVER = { seconds: 315_576_000_000n };
const EATING = 1_000n;
const LONGEST_BAKING = 86_400n;

export const loaves: Kind = {
  described: create(ResourceKindSchema, {
    resourceType: { group: "bakery.example.org", version: "v1alpha1", kind: "Loaf" },
    plural: "loaves",
    namespaced: true,
    description: "A loaf of bread.",
    parametersSchemaJson: schema(
      {
        grams: { type: "integer", minimum: 1 },
        bakeSeconds: { type: "integer", minimum: 0, description: "0, if not said." },
        glaze: { type: "string", description: "none, if not said." },
      },
      ["grams"],
    ),
    statusSchemaJson: schema({ baked: { type: "boolean" } }),
    printerColumns: [{ name: "Baked", dataType: "boolean", jsonPath: ".status.atProvider.baked" }],
    capabilities: {
      canCreate: true,
      canUpdate: true,
      canDelete: true,
      // The name is derived from the token, and its first version can be written only once.
      createRecovery: [CreateRecovery.CLIENT_TOKEN],
      tokenRetention: FOR_EVER,
      holdsMarker: true,
      concurrentUpdate: true,
      deleteDuringCreate: true,
      visibleWhenAccepted: true,
    },
    externalName: { source: ExternalNameSource.PROVIDER, pattern: "loaf-[0-9a-f]{16}", example: "loaf-0123456789abcdef" },
    fieldRules: ["/grams", "/bakeSeconds"].map((path) => ({ path, mutability: Mutability.IMMUTABLE })),
    timeouts: { createTimeout: { seconds: 2n * LONGEST_BAKING } },
    examples: [
      {
        name: "small",
        createParameters: document({ grams: 250n, bakeSeconds: 2n }),
        updateParameters: document({ grams: 250n, bakeSeconds: 2n, glaze: "egg" }),
        invalidParameters: document({ grams: 250n, bakeSeconds: LONGEST_BAKING + 1n }),
      },
    ],
  }),

  async observe(call) {
    const found = await (await ledger(call, "loaves")).find(call.target.externalName);
    return !found || isDeleted(found.entry) ? undefined : observation(found);
  },

  async create(call, token) {
    const shelf = await ledger(call, "loaves");
    const name = `loaf-${hash(token.toLowerCase()).slice(0, 16)}`;
    const request = hash(stringify([call.target.config?.configId, call.target.ownershipMarker, sorted(call.desired)]) ?? "");
    // Before anything is checked: what had its effect is never rejected when repeated.
    const earlier = await shelf.find(name);
    if (earlier) return repeated(earlier, request);
    const parameters = checked({ bakeSeconds: 0n, glaze: "none", ...call.desired });
    const now = BigInt(Date.now());
    const done = now + (parameters["bakeSeconds"] as bigint) * 1000n;
    const created = await shelf.write(call, name, 1, { parameters, marker: call.target.ownershipMarker, request, begun: now, done });
    if (created) return baking(created);
    // The same request came twice at once.
    const other = await shelf.find(name);
    if (!other) throw new Error("a version of the ledger is gone");
    return repeated(other, request);
  },

  async update(call, etag) {
    const shelf = await ledger(call, "loaves");
    const before = await shelf.find(call.target.externalName);
    // One without a marker is being adopted.
    if (!before || before.entry.leaving || (before.entry.marker && !owns(call, before.entry.marker))) {
      throw notFound(call.target.externalName);
    }
    checkEtag(before, etag);
    const parameters = checked({ ...before.entry.parameters, ...call.desired });
    for (const field of ["grams", "bakeSeconds"]) {
      if (parameters[field] !== before.entry.parameters[field]) {
        const message = `The ${field} of a loaf cannot change.`;
        throw new Failed(FailureCode.IMMUTABLE_FIELD, "AnotherLoaf", message, { path: `/${field}`, name: before.name });
      }
    }
    const entry = { ...before.entry, parameters, marker: call.target.ownershipMarker };
    const after = await shelf.write(call, before.name, before.number + 1, entry);
    if (!after) throw changed(before.name);
    return completed(after.name, observation(after));
  },

  async delete(call, etag) {
    const shelf = await ledger(call, "loaves");
    const before = await shelf.find(call.target.externalName);
    if (!before || isDeleted(before.entry)) return completed(call.target.externalName, undefined, true);
    rejectForeign(call, before);
    // A removal that was begun goes on.
    if (before.entry.leaving) return eating(before);
    checkEtag(before, etag);
    const now = BigInt(Date.now());
    const after = await shelf.write(call, before.name, before.number + 1, { ...before.entry, leaving: now, deleted: now + EATING });
    if (!after) throw changed(before.name);
    return eating(after);
  },

  async poll(call, handle) {
    const [, verb, name] = /^(bake|eat)\/(loaf-[0-9a-f]{16})$/.exec(handle) ?? [];
    if (!name || (call.target.externalName && call.target.externalName !== name)) {
      throw new Rejected("handle is malformed or foreign: no operation of this loaf");
    }
    const found = await (await ledger(call, "loaves")).find(name);
    if (!found || (verb === "eat" && !found.entry.leaving)) {
      throw new Failed(FailureCode.OPERATION_EXPIRED, "UnknownOperation", "This bakery never had such an operation.", { name });
    }
    rejectForeign(call, found);
    return verb === "eat" ? eating(found) : baking(found);
  },
};

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

const sorted = (desired: Json) => Object.entries(desired).sort(([a], [b]) => (a < b ? -1 : 1));

const isDeleted = ({ deleted }: Entry) => deleted !== undefined && deleted <= BigInt(Date.now());

/** No marker is as good as ours: this kind is not recovered by marker. */
function rejectForeign(call: Call, { name, entry }: Version): void {
  if (entry.marker && !owns(call, entry.marker)) throw notFound(name);
}

function checked({ grams, bakeSeconds, glaze }: Json): Json {
  if (typeof grams !== "bigint" || grams < 1n) throw invalid("/grams", "NoWeight", "A loaf weighs 1 gram or more.");
  if (typeof bakeSeconds !== "bigint" || bakeSeconds < 0n || bakeSeconds > LONGEST_BAKING) {
    throw invalid("/bakeSeconds", "Burnt", `A loaf is baked for ${LONGEST_BAKING} seconds at most.`);
  }
  if (typeof glaze !== "string") throw invalid("/glaze", "NoText", "A glaze is a word.");
  return { grams, bakeSeconds, glaze };
}

function repeated(earlier: Version, request: string): Outcome {
  const { name, entry } = earlier;
  if (entry.request !== request) {
    throw new Failed(FailureCode.TOKEN_REUSED, "TokenReused", "Another request came earlier under this token.");
  }
  if (isDeleted(entry)) throw new Failed(FailureCode.NOT_FOUND, "Eaten", `${name} was created under this token and has been eaten.`, { name });
  return baking(earlier, true);
}

/** How its creating goes. What was eaten unbaked never gets done; the answer stays the same ever after. */
function baking(version: Version, alreadyDone = false): Outcome {
  const { name, entry } = version;
  if (entry.leaving !== undefined && entry.leaving < entry.done) {
    throw new Failed(FailureCode.OPERATION_FAILED, "EatenUnbaked", `${name} was eaten before it was baked.`, { name });
  }
  const now = BigInt(Date.now());
  if (now >= entry.done) return completed(name, entry.leaving ? undefined : observation(version), alreadyDone);
  return underWay(name, {
    handle: `bake/${name}`,
    verb: OperationVerb.CREATE,
    pollAfter: durationFromMs(Number(entry.done - now < 1000n ? entry.done - now : 1000n)),
    progressPercent: Number((100n * (now - entry.begun)) / (entry.done - entry.begun)),
    phase: "Baking",
  });
}

function eating({ name, entry }: Version): Outcome {
  if (isDeleted(entry)) return completed(name);
  return underWay(name, { handle: `eat/${name}`, verb: OperationVerb.DELETE, pollAfter: durationFromMs(500), phase: "Eating" });
}

const underWay = (externalName: string, value: MessageInitShape<typeof OperationSchema>) =>
  create(OutcomeSchema, { externalName, result: { case: "operation", value } });

function observation(version: Version) {
  const baked = BigInt(Date.now()) >= version.entry.done;
  return observed(version, {
    status: document({ baked }),
    ready: baked,
    readyMessage: baked ? "" : "It is in the oven.",
    deleting: version.entry.leaving !== undefined,
  });
}
