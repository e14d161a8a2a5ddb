// What a kind of resource offers to the services, and what kinds have in common.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import type { Version } from "./bakery.js";
import { type Call, document, Failed, type Json } from "./call.js";
import { FailureCode } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";
import type { ResourceKind } from "./contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { type Observation, ObservationSchema } from "./contract/crossbridge/provider/v1alpha1/observation_pb.js";
import { type Outcome, OutcomeSchema } from "./contract/crossbridge/provider/v1alpha1/outcome_pb.js";

/** One kind. Its methods throw `Failed` for what the bakery rejects. */
export interface Kind {
  described: ResourceKind;
  /** Undefined: absent. */
  observe(call: Call): Promise<Observation | undefined>;
  create(call: Call, token: string, outcomeUnknown: boolean): Promise<Outcome>;
  update(call: Call, etag: string): Promise<Outcome>;
  delete(call: Call, etag: string): Promise<Outcome>;
  poll(call: Call, handle: string): Promise<Outcome>;
}

export const schema = (properties: Json, required?: string[]): string => JSON.stringify({ type: "object", properties, required });

export const notFound = (name: string) =>
  new Failed(FailureCode.NOT_FOUND, "NotThere", `There is no ${name} of this object.`, { name });

export const changed = (name: string) => new Failed(FailureCode.CONFLICT, "Changed", `${name} was changed meanwhile.`, { name });

/** Rejects what was changed since the caller observed. */
export function checkEtag({ name, number }: Version, etag: string): void {
  if (etag && etag !== String(number)) throw changed(name);
}

export function observed({ name, number, entry }: Version, rest: MessageInitShape<typeof ObservationSchema>): Observation {
  return create(ObservationSchema, {
    externalName: name,
    parameters: document(entry.parameters),
    etag: String(number),
    foundMarker: entry.marker,
    ...rest,
  });
}

export function completed(externalName: string, observation?: Observation, alreadyDone = false): Outcome {
  const value = observation ? { observation, alreadyDone } : { alreadyDone };
  return create(OutcomeSchema, { externalName, result: { case: "completed", value } });
}
