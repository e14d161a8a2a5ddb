// Calls for tests.

import { create } from "@bufbuild/protobuf";

import { type Call, document, type Json } from "./call.js";
import { type Target, TargetSchema } from "./contract/crossbridge/provider/v1alpha1/target_pb.js";
import { recipes } from "./recipe.js";

export const SECRET = "swordfish";
export const DESIRED: Json = { title: "Rye bread", flourGrams: 500n };

export const target = (folder: string, externalName = ""): Target =>
  create(TargetSchema, {
    resourceType: recipes.described.resourceType!,
    config: { configId: "one", revision: "1", settings: document({ folder }) },
    owner: { name: "rye", uid: "1" },
    externalName,
    ownershipMarker: "one",
  });

export const call = (folder: string, externalName = "", signal: AbortSignal = new AbortController().signal): Call => ({
  target: target(folder, externalName),
  desired: DESIRED,
  secrets: { "/secretIngredient": SECRET },
  deadline: Date.now() + 30_000,
  signal,
});
