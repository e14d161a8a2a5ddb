// Recipes: written and changed within the call. The bakery names them; after a crash one is found by the marker that is in it.

import { randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";

import { create } from "@bufbuild/protobuf";

import { ledger, type Ledger, type Version } from "./bakery.js";
import { type Call, document, invalid, type Json, owns, Rejected } from "./call.js";
import { CreateRecovery, ExternalNameSource, ResourceKindSchema } from "./contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { changed, checkEtag, completed, type Kind, notFound, observed, schema } from "./kind.js";

export const recipes: Kind = {
  described: create(ResourceKindSchema, {
    resourceType: { group: "bakery.example.org", version: "v1alpha1", kind: "Recipe" },
    plural: "recipes",
    namespaced: true,
    description: "How something is baked.",
    parametersSchemaJson: schema(
      {
        title: { type: "string", minLength: 1 },
        flourGrams: { type: "integer", format: "int64", minimum: 0 },
        steps: { type: "array", items: { type: "string" } },
        secretIngredient: { type: "string", description: "Known to the baker only." },
      },
      ["title", "flourGrams"],
    ),
    statusSchemaJson: schema({ steps: { type: "integer" } }),
    capabilities: {
      canCreate: true,
      canUpdate: true,
      canDelete: true,
      createRecovery: [CreateRecovery.MARKER],
      holdsMarker: true,
      visibleWhenAccepted: true,
    },
    externalName: { source: ExternalNameSource.PROVIDER, pattern: "recipe-[0-9a-f]{12}", example: "recipe-0123456789ab" },
    fieldRules: [{ path: "/secretIngredient", sensitive: true }],
    examples: [
      {
        name: "rye",
        // More than a double can hold: whoever counts with one loses the last gram.
        createParameters: document({ title: "Rye bread", flourGrams: 9007199254740993n, steps: ["knead", "bake"] }),
        updateParameters: document({ title: "Rye bread", flourGrams: 450n, steps: ["knead", "wait", "bake"] }),
        invalidParameters: document({ title: "Air", flourGrams: 0n }),
        sensitiveValues: { "/secretIngredient": "a spoon of honey" },
      },
    ],
  }),

  async observe(call) {
    const found = await find(await ledger(call, "recipes"), call);
    return found && observation(found);
  },

  async create(call, _token, outcomeUnknown) {
    const book = await ledger(call, "recipes");
    // A repeat: what an earlier call wrote is found by its marker.
    const earlier = outcomeUnknown ? await find(book, call) : undefined;
    if (earlier) return completed(earlier.name, observation(earlier), true);
    const now = BigInt(Date.now());
    const secret = await sealed(call.secrets["/secretIngredient"]);
    const created = await book.write(call, `recipe-${randomBytes(6).toString("hex")}`, 1, {
      parameters: checked({ steps: [], ...call.desired }),
      marker: call.target.ownershipMarker,
      ...(secret === undefined ? {} : { secret }),
      begun: now,
      done: now,
    });
    if (!created) throw new Error("a random name was taken");
    return completed(created.name, observation(created));
  },

  async update(call, etag) {
    const book = await ledger(call, "recipes");
    const before = await book.find(call.target.externalName);
    // One without a marker is being adopted.
    if (!before || before.entry.deleted || (before.entry.marker && !owns(call, before.entry.marker))) throw notFound(call.target.externalName);
    checkEtag(before, etag);
    const secret = (await sealed(call.secrets["/secretIngredient"])) ?? before.entry.secret;
    const after = await book.write(call, before.name, before.number + 1, {
      ...before.entry,
      parameters: checked({ ...before.entry.parameters, ...call.desired }),
      marker: call.target.ownershipMarker,
      ...(secret === undefined ? {} : { secret }),
    });
    if (!after) throw changed(before.name);
    return completed(after.name, observation(after));
  },

  async delete(call, etag) {
    const book = await ledger(call, "recipes");
    const before = await book.find(call.target.externalName);
    if (!before || before.entry.deleted) return completed(call.target.externalName, undefined, true);
    if (!owns(call, before.entry.marker)) throw notFound(before.name);
    checkEtag(before, etag);
    const { secret: _, ...rest } = before.entry;
    const after = await book.write(call, before.name, before.number + 1, { ...rest, deleted: BigInt(Date.now()) });
    if (!after) throw changed(before.name);
    return completed(before.name);
  },

  poll() {
    throw new Rejected("handle is foreign: recipes have no operations");
  },
};

/** What can be compared, and not be read. */
async function sealed(secret: string | undefined): Promise<string | undefined> {
  if (secret === undefined) return undefined;
  const salt = randomBytes(16);
  const digest = (await promisify(scrypt)(secret, salt, 32)) as Buffer;
  return `${salt.toString("hex")}:${digest.toString("hex")}`;
}

/** By name, else by marker: the oldest. */
async function find(book: Ledger, call: Call): Promise<Version | undefined> {
  const name = call.target.externalName;
  const found = name ? await book.find(name) : (await book.all()).find(({ entry }) => owns(call, entry.marker) && !entry.deleted);
  return found?.entry.deleted ? undefined : found;
}

function checked({ title, flourGrams, steps }: Json): Json {
  if (typeof title !== "string" || title === "") throw invalid("/title", "NoTitle", "A recipe has a title.");
  if (typeof flourGrams !== "bigint" || flourGrams <= 0n) throw invalid("/flourGrams", "NoFlour", "Nothing is baked without flour.");
  if (!Array.isArray(steps)) throw invalid("/steps", "NoList", "Steps are a list.");
  return { title, flourGrams, steps };
}

function observation(version: Version) {
  const steps = version.entry.parameters["steps"] as unknown[];
  return observed(version, { status: document({ steps: steps.length }), ready: true });
}
