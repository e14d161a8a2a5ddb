// Loaves: baking takes a while, and so does eating. The bakery names them, after the token that ordered them.

import { join } from "node:path";

import * as sdk from "@crossbridge/sdk";
import { Failure, found, immutable, kind, underWay, z } from "@crossbridge/sdk";

import { enter, entry, Ledger, type Version } from "./bakery.js";

const EATING = 1_000;
const LONGEST_BAKING = 86_400;

const Parameters = z.object({
  grams: immutable(z.int().min(1)),
  bakeSeconds: immutable(z.int().min(0).optional().describe("0, if not said.")),
  glaze: z.string().optional().describe("none, if not said."),
});
const Entry = entry(Parameters.required());
type Loaf = Version<z.output<typeof Entry>>;

const handles = sdk.handleFormat(1, z.object({ does: z.enum(["bake", "eat"]), name: z.string().regex(/^loaf-[0-9a-f]{16}$/) }));

export const loaves = kind({
  group: "bakery.example.org",
  version: "v1alpha1",
  kind: "Loaf",
  plural: "loaves",
  description: "A loaf of bread.",
  parameters: Parameters,
  status: z.object({ baked: z.boolean() }),
  printerColumns: [{ name: "Baked", type: "boolean", jsonPath: ".status.atProvider.baked" }],
  externalName: { source: "upstream", pattern: "loaf-[0-9a-f]{16}", example: "loaf-0123456789abcdef" },
  // The name is derived from the token, and its first version can be written only once.
  createRecovery: ["token"],
  tokenRetention: sdk.forEver,
  holdsMarker: true,
  concurrentUpdate: true,
  deleteDuringCreate: true,
  visibleWhenAccepted: true,
  timeouts: { create: { seconds: 2 * LONGEST_BAKING } },
  examples: [
    {
      name: "small",
      create: { grams: 250, bakeSeconds: 2 },
      update: { grams: 250, bakeSeconds: 2, glaze: "egg" },
      invalid: { grams: 250, bakeSeconds: LONGEST_BAKING + 1 },
    },
  ],

  async observe(call) {
    call.rejectProviderState();
    const loaf = await (await ledger(call)).find(call.externalName);
    return !loaf || isDeleted(loaf) ? sdk.absent() : observation(loaf);
  },

  async create(call) {
    const shelf = await ledger(call);
    const name = call.nameOfToken("loaf-");
    // Before anything is checked: what had its effect is never rejected when repeated.
    const earlier = await shelf.find(name);
    if (earlier) return repeated(call, earlier);
    const parameters = { bakeSeconds: 0, glaze: "none", ...call.parameters };
    if (parameters.bakeSeconds > LONGEST_BAKING) {
      throw Failure.invalidSpec(`A loaf is baked for ${LONGEST_BAKING} seconds at most.`, { reason: "Burnt", path: "/bakeSeconds" });
    }
    const now = Date.now();
    const done = now + parameters.bakeSeconds * 1000;
    const created = await shelf.write(call, name, 1, { parameters, marker: call.ownershipMarker, request: call.requestDigest, begun: now, done });
    if (created) return baking(created);
    // The same request came twice at once.
    const other = await shelf.find(name);
    if (!other) throw new Error("a version of the ledger is gone");
    return repeated(call, other);
  },

  async update(call) {
    const shelf = await ledger(call);
    const before = await shelf.find(call.externalName);
    if (!before || before.entry.leaving) throw Failure.notFound(`There is no ${call.externalName}.`);
    call.ensureOwned(before.entry.marker);
    call.ensureEtag(String(before.number));
    const parameters = { ...before.entry.parameters, ...call.parameters };
    for (const field of ["grams", "bakeSeconds"] as const) {
      if (parameters[field] === before.entry.parameters[field]) continue;
      throw Failure.immutableField(`The ${field} of a loaf cannot change.`, { reason: "AnotherLoaf", path: `/${field}` });
    }
    const after = await shelf.write(call, before.name, before.number + 1, { ...before.entry, parameters, marker: call.ownershipMarker });
    if (!after) throw Failure.conflict(`${before.name} was changed meanwhile.`);
    return sdk.completed(observation(after));
  },

  async delete(call) {
    const shelf = await ledger(call);
    const before = await shelf.find(call.externalName);
    if (!before || isDeleted(before)) return sdk.alreadyDone();
    call.ensureOwned(before.entry.marker);
    // A removal that was begun goes on.
    if (before.entry.leaving) return eating(before);
    call.ensureEtag(String(before.number));
    const leaving = Date.now();
    const after = await shelf.write(call, before.name, before.number + 1, { ...before.entry, leaving, deleted: leaving + EATING });
    if (!after) throw Failure.conflict(`${before.name} was changed meanwhile.`);
    return eating(after);
  },

  async poll(call) {
    const { does, name } = handles.read(call.handle);
    if (call.externalName && call.externalName !== name) throw new sdk.InvalidArgument("handle", "is of another loaf");
    call.recordName(name);
    const loaf = await (await ledger(call)).find(name);
    if (!loaf || (does === "eat" && !loaf.entry.leaving)) throw Failure.operationExpired("This bakery never had such an operation.");
    call.ensureOwned(loaf.entry.marker);
    return does === "eat" ? eating(loaf) : baking(loaf);
  },
});

const ledger = async (call: sdk.ConfigCall) => new Ledger(join(await enter(call.config), "loaves"), Entry);

const isDeleted = ({ entry: { deleted } }: Loaf) => deleted !== undefined && deleted <= Date.now();

function repeated(call: sdk.CreateCall, earlier: Loaf) {
  call.ensureSameRequest(earlier.entry.request ?? "");
  call.recordName(earlier.name);
  if (isDeleted(earlier)) throw Failure.notFound(`${earlier.name} was created under this token and has been eaten.`, { reason: "Eaten" });
  return baking(earlier, sdk.alreadyDone);
}

/** How its creating goes. What was eaten unbaked never gets done; the answer stays the same ever after. */
function baking(loaf: Loaf, ended: typeof sdk.completed = sdk.completed) {
  const { begun, done, leaving } = loaf.entry;
  const details = { externalName: loaf.name };
  if (leaving !== undefined && leaving < done) {
    return sdk.failed(Failure.operationFailed(`${loaf.name} was eaten before it was baked.`, { reason: "EatenUnbaked", effect: "none" }), details);
  }
  const now = Date.now();
  if (now >= done) return ended(leaving ? undefined : observation(loaf), details);
  const pollAfter = { milliseconds: Math.min(done - now, 1000) };
  const progress = (100 * (now - begun)) / (done - begun);
  return underWay({ handle: handles.write({ does: "bake", name: loaf.name }), verb: "create", pollAfter, progress, phase: "Baking" }, details);
}

function eating(loaf: Loaf) {
  if (isDeleted(loaf)) return sdk.completed();
  return underWay({ handle: handles.write({ does: "eat", name: loaf.name }), verb: "delete", pollAfter: { milliseconds: 500 }, phase: "Eating" });
}

function observation({ name, number, entry: { parameters, marker, done, leaving } }: Loaf) {
  const baked = Date.now() >= done;
  return found({
    externalName: name,
    parameters,
    status: { baked },
    ready: baked,
    readyMessage: "It is in the oven.",
    deleting: leaving !== undefined,
    etag: String(number),
    foundMarker: marker,
  });
}
