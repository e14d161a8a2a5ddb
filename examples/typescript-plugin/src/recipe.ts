// Recipes: written and changed within the call. The bakery names them; after a crash one is found by the marker that is in it.

import { randomBytes, scrypt } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";

import { absent, alreadyDone, completed, type ConfigCall, Failure, found, kind, type ResourceCall, sensitive, z } from "@crossbridge/sdk";

import { enter, entry, Ledger, type Version } from "./bakery.js";

const Parameters = z.object({
  title: z.string().min(1),
  flourGrams: z
    .int64()
    .min(0n)
    .refine((grams) => grams > 0n, "Nothing is baked without flour."),
  steps: z.array(z.string()).optional(),
  secretIngredient: sensitive(z.string().optional().describe("Known to the baker only.")),
});
const Entry = entry(Parameters);
type Recipe = Version<z.output<typeof Entry>>;

export const recipes = kind({
  group: "bakery.example.org",
  version: "v1alpha1",
  kind: "Recipe",
  description: "How something is baked.",
  parameters: Parameters,
  status: z.object({ steps: z.int() }),
  externalName: { source: "upstream", pattern: "recipe-[0-9a-f]{12}", example: "recipe-0123456789ab" },
  createRecovery: ["marker"],
  visibleWhenAccepted: true,
  examples: [
    {
      name: "rye",
      // More than a double can hold: whoever counts with one loses the last gram.
      create: { title: "Rye bread", flourGrams: 9007199254740993n, steps: ["knead", "bake"] },
      update: { title: "Rye bread", flourGrams: 450n, steps: ["knead", "wait", "bake"] },
      invalid: { title: "Air", flourGrams: 0n },
      sensitive: { "/secretIngredient": "a spoon of honey" },
    },
  ],

  async observe(call) {
    const recipe = await find(await ledger(call), call);
    return recipe ? observation(recipe) : absent();
  },

  async create(call) {
    const book = await ledger(call);
    // A repeat: what an earlier call wrote is found by its marker.
    const earlier = call.outcomeUnknown ? await find(book, call) : undefined;
    if (earlier) return alreadyDone(observation(earlier));
    const now = Date.now();
    const secret = await sealed(call);
    const written = { parameters: { steps: [], ...call.parameters }, marker: call.ownershipMarker, secret, begun: now, done: now };
    const created = await book.write(call, `recipe-${randomBytes(6).toString("hex")}`, 1, written);
    if (!created) throw new Error("a random name was taken");
    return completed(observation(created));
  },

  async update(call) {
    const book = await ledger(call);
    const before = await book.find(call.externalName);
    if (!before || before.entry.deleted) throw Failure.notFound(`There is no ${call.externalName}.`);
    call.ensureOwned(before.entry.marker);
    call.ensureEtag(String(before.number));
    const parameters = { ...before.entry.parameters, ...call.parameters };
    const secret = (await sealed(call)) ?? before.entry.secret;
    const after = await book.write(call, before.name, before.number + 1, { ...before.entry, parameters, marker: call.ownershipMarker, secret });
    if (!after) throw Failure.conflict(`${before.name} was changed meanwhile.`);
    return completed(observation(after));
  },

  async delete(call) {
    const book = await ledger(call);
    const before = await book.find(call.externalName);
    if (!before || before.entry.deleted) return alreadyDone();
    call.ensureOwned(before.entry.marker);
    call.ensureEtag(String(before.number));
    const after = await book.write(call, before.name, before.number + 1, { ...before.entry, secret: undefined, deleted: Date.now() });
    if (!after) throw Failure.conflict(`${before.name} was changed meanwhile.`);
    return completed();
  },
});

type Book = Ledger<z.output<typeof Entry>>;

const ledger = async (call: ConfigCall): Promise<Book> => new Ledger(join(await enter(call.config), "recipes"), Entry);

/** By name, else by marker: the oldest. */
async function find(book: Book, call: ResourceCall): Promise<Recipe | undefined> {
  call.rejectProviderState();
  const byMarker = async () => (await book.all()).find(({ entry }) => call.isOurs(entry.marker) && !entry.deleted);
  const recipe = call.externalName ? await book.find(call.externalName) : await byMarker();
  return recipe?.entry.deleted ? undefined : recipe;
}

/** What can be compared, and not be read. */
async function sealed(call: ResourceCall): Promise<string | undefined> {
  const secret = call.sensitive("/secretIngredient");
  if (secret === undefined) return undefined;
  const salt = randomBytes(16);
  const digest = (await promisify(scrypt)(secret, salt, 32)) as Buffer;
  return `${salt.toString("hex")}:${digest.toString("hex")}`;
}

const observation = ({ name, number, entry: { parameters, marker } }: Recipe) =>
  found({ externalName: name, parameters, status: { steps: parameters.steps?.length ?? 0 }, ready: true, etag: String(number), foundMarker: marker });
