// What every request is checked for before the author's code runs.

import { getOption } from "@bufbuild/protobuf";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { status } from "@grpc/grpc-js";

import { checkResourceType } from "../check-kind.js";
import { is_required } from "../contract/crossbridge/provider/v1alpha1/options_pb.js";
import {
  ConfigContextSchema,
  type Document,
  type DesiredState,
  DesiredStateSchema,
  type ResourceType,
  ResourceTypeSchema,
  type Target,
  TargetSchema,
} from "../contract/crossbridge/provider/v1alpha1/target_pb.js";
import { Rejection } from "../failure.js";
import { isObject, type JsonObject, parseJson } from "../json.js";
import { atMost, marker, missing, pointer, STATE_LIMIT, Violation, within } from "../violation.js";

/** A caller's mistake: nothing was done. */
export const invalid = (violation: Violation): Rejection => new Rejection(status.INVALID_ARGUMENT, violation.message);

/**
 * Checks a request; `more` checks what is particular to it.
 *
 * @throws Rejection INVALID_ARGUMENT that names the field
 */
export function checkRequest(request: ReflectMessage, more: () => void = () => undefined): void {
  try {
    checkMessage(request);
    more();
  } catch (error) {
    throw error instanceof Violation ? invalid(error) : error;
  }
}

/** Every field that the contract marks as required is set, and every part has its form. */
function checkMessage(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (getOption(field, is_required) && !message.isSet(field)) throw missing(field.name);
    if (field.fieldKind !== "message" || !message.isSet(field)) continue;
    within(field.name, () => {
      checkMessage(message.get(field));
    });
  }
  switch (message.desc.typeName) {
    case ResourceTypeSchema.typeName:
      checkResourceType(message.message as ResourceType);
      break;
    case TargetSchema.typeName: {
      const target = message.message as Target;
      marker(target.ownershipMarker, "ownership_marker");
      marker(target.formerMarker, "former_marker");
      atMost(target.providerState, STATE_LIMIT, "provider_state");
      break;
    }
    case ConfigContextSchema.typeName:
    case DesiredStateSchema.typeName:
      for (const field of message.fields) {
        if (field.fieldKind === "message" && field.message.typeName.endsWith(".Document") && message.isSet(field)) {
          objectOf(message.get(field).message as Document, field.name);
        }
      }
      for (const path of Object.keys((message.message as Partial<DesiredState>).sensitiveValues ?? {}))
        pointer(path, `sensitive_values[${JSON.stringify(path)}]`);
      break;
  }
}

/**
 * The object in a document; none: an empty one.
 *
 * @throws Violation
 */
export function objectOf(document: Document | undefined, field: string): JsonObject {
  if (document === undefined) return {};
  const value = parseJson(document.json);
  if (!isObject(value)) throw new Violation(`${field}.json`, "is not the text of a JSON object");
  return value;
}
