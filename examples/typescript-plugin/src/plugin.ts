// The plugin: its kinds, and what configures it.

import { readFileSync } from "node:fs";

import type { PluginDeclaration } from "@crossbridge/sdk";

import { enter, Settings } from "./bakery.js";
import { loaves } from "./loaf.js";
import { recipes } from "./recipe.js";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };

export const bakery: PluginDeclaration = {
  name: "bakery.example.org",
  version,
  kinds: [recipes, loaves],
  settings: Settings,
  checkConfig: ({ config }) => enter(config),
};
