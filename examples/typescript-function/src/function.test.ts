import assert from "node:assert/strict";
import { test } from "node:test";

import { Ready, Resource, RunFunctionRequest, fromCompose } from "@crossplane-org/function-sdk-typescript";

import { compose } from "./function.js";

const bus = { name: "bus", departures: ["07:10", "07:40"] };
const tram = { name: "tram", departures: ["07:15"] };

function request(lines: unknown[], composed: string[] = []): RunFunctionRequest {
  const resource = { apiVersion: "example.org/v1alpha1", kind: "Timetable", spec: { lines } };
  const config = { apiVersion: "v1", kind: "ConfigMap" };
  const resources = composed.map((name): [string, Resource] => [name, Resource.fromPartial({ resource: config })]);
  return RunFunctionRequest.fromPartial({
    observed: { composite: { resource }, resources: Object.fromEntries(resources) },
  });
}

const run = (of: RunFunctionRequest) => fromCompose(compose).RunFunction(of);

test("each line is a ConfigMap, ready when it exists", async () => {
  const { desired } = await run(request([bus, tram], ["line-bus"]));
  const ready = Object.entries(desired?.resources ?? {}).map(([name, one]) => [name, one.ready]);
  assert.deepEqual(ready, [
    ["line-bus", Ready.READY_TRUE],
    ["line-tram", Ready.READY_FALSE],
  ]);
  assert.deepEqual(desired?.resources["line-bus"]?.resource?.data, { line: "bus", "departures.txt": "07:10\n07:40" });
  assert.deepEqual(desired.composite?.resource?.status, { departures: 3 });
});

test("a line that is named twice is fatal", async () => {
  const { results, desired } = await run(request([bus, bus]));
  assert.equal(results[0]?.message, "spec.lines names bus twice: write its departures in one line");
  assert.deepEqual(desired?.resources, {});
});
