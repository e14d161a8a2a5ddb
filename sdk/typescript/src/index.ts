// Write a Crossbridge plugin in TypeScript.

export { z } from "zod";

export {
  type Absent,
  absent,
  alreadyDone,
  completed,
  type ConnectionDetails,
  type Difference,
  failed,
  found,
  type Listed,
  type ListedItem,
  type Observation,
  type Observed,
  type ObservedFields,
  type Operation,
  type OperationVerb,
  type Outcome,
  type OutcomeDetails,
  underWay,
  type Warning,
} from "./answer.js";
export type { ConfigCall, CreateCall, DeleteCall, ListCall, ObserveCall, Owner, PollCall, ResourceCall, Trace, UpdateCall } from "./call.js";
export { cachedByConfig, type Config, type CredentialKey } from "./config.js";
export type { Deadline } from "./deadline.js";
export { type Duration, forEver } from "./duration.js";
export { type ErrorTable, failureOfResponse } from "./errors.js";
export { type Effect, Failure, type FailureCode, type FailureOptions, type FieldViolation, InvalidArgument, Rejection } from "./failure.js";
export {
  caseInsensitive,
  type FieldAnnotation,
  immutable,
  jsonText,
  lateInitialized,
  quantity,
  type Reference,
  refersTo,
  sensitive,
  setOnce,
  writeOnly,
} from "./fields.js";
export { type HandleFormat, handleFormat } from "./handle.js";
export type { Json, JsonObject } from "./json.js";
export {
  type ConnectionKey,
  type CreateRecovery,
  type Example,
  type ExternalNameRules,
  type Kind,
  kind,
  type KindDeclaration,
  type PrinterColumn,
  type ResourceTypeName,
  type Timeouts,
} from "./kind.js";
export { type Logger, type LogFields, textLogger } from "./log.js";
export type { PluginDeclaration } from "./plugin.js";
export { DeclarationError } from "./published.js";
export { readJson, stringifyJson } from "./schema/document.js";
export { ServeError } from "./serve/endpoint.js";
export { run, serve, type ServeOptions } from "./serve/serve.js";
