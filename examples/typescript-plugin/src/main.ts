#!/usr/bin/env node
// `bakery-plugin`: serves until SIGTERM.

import { loaves } from "./loaf.js";
import { recipes } from "./recipe.js";
import { serve } from "./serve.js";

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());

const endpoint = process.env["PROVIDER_PLUGIN_ENDPOINT"];
if (!endpoint) {
  console.error("set PROVIDER_PLUGIN_ENDPOINT to where the bridge shall find this plugin: unix:///path, or https://host:port");
  process.exit(1);
}
try {
  await serve(endpoint, [recipes, loaves], stop.signal);
} catch (error) {
  console.error(`cannot serve at ${endpoint}: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
