// A kind's declarations against the contract: the bridge's own checks, before it meets this plugin.

import type { MessageInitShape } from "@bufbuild/protobuf";

import {
  Comparison,
  CreateRecovery,
  ExternalNameSource,
  type FieldRuleSchema,
  Mutability,
  type ResourceKind,
} from "./contract/crossbridge/provider/v1alpha1/kind_pb.js";
import { wireMilliseconds } from "./duration.js";
import { annotationsOf } from "./schema/node.js";
import { checkStructural, problemOfPath } from "./schema/check.js";
import type { FieldAnnotation } from "./fields.js";
import { type JsonObject, parseJson } from "./json.js";
import type { AnyKind } from "./kind.js";
import {
  atMost,
  distinct,
  dnsLabel,
  dnsSubdomain,
  each,
  form,
  missing,
  notAllowed,
  pascalCase,
  pointer,
  required,
  secretKey,
  Violation,
  within,
} from "./violation.js";

const LONGEST_CALL = 60_000;
const COLUMN_TYPES = ["integer", "number", "string", "boolean", "date"];
const MUTABILITY = { immutable: Mutability.IMMUTABLE, "set-once": Mutability.SET_ONCE };
const COMPARISON = {
  "case-insensitive": Comparison.CASE_INSENSITIVE,
  "json-text": Comparison.JSON_TEXT,
  quantity: Comparison.QUANTITY,
  "write-only": Comparison.WRITE_ONLY,
};

/** The rules of fields, annotated and by pointer. */
export function fieldRules(kind: AnyKind): MessageInitShape<typeof FieldRuleSchema>[] {
  const all = annotationsOf(kind.parameters);
  for (const [path, annotation] of Object.entries(kind.fields ?? {})) all.set(path, { ...all.get(path), ...annotation });
  return [...all].map(([path, annotation]) => fieldRule(path, annotation));
}

function fieldRule(
  path: string,
  { sensitive, mutability, comparison, lateInitialized, reference }: FieldAnnotation,
): MessageInitShape<typeof FieldRuleSchema> {
  const referred = reference && {
    resourceType: { group: reference.group, version: reference.version, kind: reference.kind },
    extract: reference.extract ?? "",
  };
  return {
    path,
    sensitive: sensitive ?? false,
    mutability: mutability === undefined ? Mutability.UNSPECIFIED : MUTABILITY[mutability],
    comparison: comparison === undefined ? Comparison.UNSPECIFIED : COMPARISON[comparison],
    lateInitialized: lateInitialized ?? false,
    ...(referred === undefined ? {} : { reference: referred }),
  };
}

/** @throws Violation the first rule that is broken */
export function checkResourceType(type: { group: string; version: string; kind: string } | undefined): void {
  if (type === undefined) throw missing("");
  dnsSubdomain(type.group, "group");
  dnsLabel(type.version, "version");
  pascalCase(type.kind, "kind");
}

/** @throws Violation the first rule that is broken */
export function checkKind(kind: ResourceKind): void {
  within("resource_type", () => {
    checkResourceType(kind.resourceType);
  });
  checkNames(kind);
  const parameters = parseJson(kind.parametersSchemaJson) as JsonObject;
  checkStructural(parameters, "parameters_schema_json");
  checkStructural(parseJson(kind.statusSchemaJson) ?? null, "status_schema_json");
  if (kind.listFilterSchemaJson !== "") checkStructural(parseJson(kind.listFilterSchemaJson) ?? null, "list_filter_schema_json");
  each(kind.printerColumns, "printer_columns", ({ name, dataType, jsonPath }) => {
    required(name, "name");
    form(COLUMN_TYPES.includes(dataType), "integer, number, string, boolean or date", "data_type");
    form(jsonPath.startsWith("."), "a JSONPath that begins with '.'", "json_path");
  });
  checkRules(kind, parameters);
  each(kind.connectionKeys, "connection_keys", ({ name }) => {
    secretKey(name, "name");
  });
  const distinctNames = (items: readonly { name: string }[], field: string): void => {
    distinct(
      items.map(({ name }) => name),
      field,
      "name",
    );
  };
  distinctNames(kind.printerColumns, "printer_columns");
  distinctNames(kind.connectionKeys, "connection_keys");
  distinctNames(kind.examples, "examples");
  checkTimes(kind);
  checkRecovery(kind);
  checkExamples(kind);
}

function checkNames(kind: ResourceKind): void {
  dnsLabel(kind.plural, "plural");
  if (kind.singular !== "") dnsLabel(kind.singular, "singular");
  const lists: [string, readonly string[]][] = [
    ["short_names", kind.shortNames],
    ["categories", kind.categories],
  ];
  for (const [field, names] of lists) {
    names.forEach((name, index) => {
      dnsLabel(name, `${field}[${index}]`);
    });
    distinct(names, field, "");
  }
  const { example = "", maxLength = 0 } = kind.externalName ?? {};
  within("external_name", () => {
    required(example, "example");
    if (maxLength < 0) throw new Violation("max_length", "is out of range: 0 or more is allowed");
    if (maxLength > 0) atMost(example, maxLength, "example");
  });
}

function checkRules(kind: ResourceKind, parameters: JsonObject): void {
  each(kind.fieldRules, "field_rules", ({ path, reference }) => {
    pointer(path, "path");
    const problem = problemOfPath(parameters, path);
    if (problem !== undefined) throw notAllowed("path", problem);
    if (reference === undefined) return;
    within("reference", () => {
      within("resource_type", () => {
        checkResourceType(reference.resourceType);
      });
      if (reference.extract !== "") pointer(reference.extract, "extract");
    });
  });
}

function checkTimes({ timeouts, capabilities }: ResourceKind): void {
  const all = {
    "timeouts.call_timeout": timeouts?.callTimeout,
    "timeouts.create_timeout": timeouts?.createTimeout,
    "timeouts.update_timeout": timeouts?.updateTimeout,
    "timeouts.delete_timeout": timeouts?.deleteTimeout,
    "capabilities.token_retention": capabilities?.tokenRetention,
    "capabilities.consistency_window": capabilities?.consistencyWindow,
    "capabilities.late_margin": capabilities?.lateMargin,
  };
  for (const [field, time] of Object.entries(all)) {
    if (time !== undefined && !(wireMilliseconds(time) >= 0)) throw new Violation(field, "is out of range: 0s or more is allowed");
  }
  const call = timeouts?.callTimeout && wireMilliseconds(timeouts.callTimeout);
  if (call !== undefined && (call === 0 || call > LONGEST_CALL))
    throw new Violation("timeouts.call_timeout", "is out of range: more than 0s, at most 60s is allowed");
}

function checkRecovery({ capabilities, externalName }: ResourceKind): void {
  const ways = capabilities?.createRecovery ?? [];
  const isNamedUpstream = externalName?.source === ExternalNameSource.PROVIDER;
  if (ways.includes(CreateRecovery.MARKER) && capabilities?.holdsMarker !== true) throw missing("capabilities.holds_marker", "with MARKER");
  if (ways.includes(CreateRecovery.CLIENT_TOKEN) && !(capabilities?.tokenRetention && wireMilliseconds(capabilities.tokenRetention) > 0)) {
    throw missing("capabilities.token_retention", "with CLIENT_TOKEN");
  }
  if (ways.includes(CreateRecovery.DETERMINISTIC_NAME) && isNamedUpstream) {
    throw notAllowed("capabilities.create_recovery", "a name that the upstream gives is no DETERMINISTIC_NAME");
  }
  const isLookedUp = ways.includes(CreateRecovery.DETERMINISTIC_NAME) || ways.includes(CreateRecovery.MARKER);
  if (capabilities?.canCreate === true && !isLookedUp && !isNamedUpstream) {
    const when = "where the name is known before anything is created: DETERMINISTIC_NAME, or MARKER, or both";
    throw missing("capabilities.create_recovery", when);
  }
}

function checkExamples({ capabilities, examples, externalName }: ResourceKind): void {
  const when = "where the kind can be created";
  each(examples, "examples", (example) => {
    required(example.name, "name");
    for (const path of Object.keys(example.sensitiveValues)) pointer(path, `sensitive_values[${JSON.stringify(path)}]`);
  });
  if (capabilities?.canCreate !== true) return;
  if (examples.length === 0) throw missing("examples", when);
  each(examples, "examples", (example) => {
    if (example.createParameters === undefined) throw missing("create_parameters", when);
    if (example.externalName === "" && externalName?.source === ExternalNameSource.USER)
      throw missing("external_name", "where the user gives the name");
  });
}
