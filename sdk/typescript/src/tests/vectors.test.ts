// The vectors that all SDKs share: calls and endpoints.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { serve } from "../serve/serve.js";
import { Stage, vectorPlugin } from "./vectors/plugin.js";
import { runVector, type Vector, vectorFile } from "./vectors/runner.js";

for (const file of ["requests", "deadlines", "failures", "answers", "secrets", "config", "plugin", "concurrency"]) {
  describe(file, { concurrency: 16 }, () => {
    for (const vector of vectorFile(file)["vectors"] as Vector[]) {
      test(`${file}.json: ${vector.name}`, { timeout: 90_000 }, () => runVector(vector));
    }
  });
}

describe("endpoints", () => {
  const all = vectorFile("endpoints")["endpoints"] as {
    name: string;
    endpoint: string | null;
    environment?: Record<string, string>;
    mentions: string[];
  }[];
  for (const { name, endpoint, environment = {}, mentions } of all) {
    test(`endpoints.json: ${name}`, async () => {
      const variables = { ...environment, ...(endpoint === null ? {} : { PROVIDER_PLUGIN_ENDPOINT: endpoint }) };
      const served = serve(vectorPlugin(new Stage()), { environment: variables, signal: AbortSignal.abort() });
      await assert.rejects(served, (error: Error) => mentions.every((text) => error.message.toLowerCase().includes(text.toLowerCase())));
    });
  }
});
