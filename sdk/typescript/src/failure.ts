// Saying no, so that the bridge knows what to do.

import { status } from "@grpc/grpc-js";

import { Effect as WireEffect, FailureCode as WireCode } from "./contract/crossbridge/provider/v1alpha1/failure_pb.js";
import type { Duration } from "./duration.js";

/** What a failed call left behind. */
export type Effect = "none" | "partial" | "unknown";

/** Of each code: its number, the effect that is usual for it, and the reason where the author gives none. */
const CODES = {
  INVALID_SPEC: [WireCode.INVALID_SPEC, "none", "InvalidSpec"],
  IMMUTABLE_FIELD: [WireCode.IMMUTABLE_FIELD, "none", "ImmutableField"],
  UNSUPPORTED: [WireCode.UNSUPPORTED, "none", "Unsupported"],
  ALREADY_EXISTS: [WireCode.ALREADY_EXISTS, "none", "AlreadyExists"],
  NOT_FOUND: [WireCode.NOT_FOUND, "none", "NotFound"],
  CONFLICT: [WireCode.CONFLICT, "none", "Conflict"],
  DEPENDENCY_NOT_READY: [WireCode.DEPENDENCY_NOT_READY, "none", "DependencyNotReady"],
  INVALID_CONFIG: [WireCode.INVALID_CONFIG, "none", "InvalidConfig"],
  UNAUTHENTICATED: [WireCode.UNAUTHENTICATED, "none", "Unauthenticated"],
  CREDENTIALS_EXPIRED: [WireCode.CREDENTIALS_EXPIRED, "none", "CredentialsExpired"],
  PERMISSION_DENIED: [WireCode.PERMISSION_DENIED, "none", "PermissionDenied"],
  THROTTLED: [WireCode.THROTTLED, "none", "Throttled"],
  QUOTA_EXCEEDED: [WireCode.QUOTA_EXCEEDED, "none", "QuotaExceeded"],
  UNAVAILABLE: [WireCode.UNAVAILABLE, "unknown", "Unavailable"],
  TIMEOUT: [WireCode.TIMEOUT, "unknown", "Timeout"],
  OPERATION_FAILED: [WireCode.OPERATION_FAILED, "unknown", "OperationFailed"],
  OPERATION_EXPIRED: [WireCode.OPERATION_EXPIRED, "none", "OperationExpired"],
  TOKEN_REUSED: [WireCode.TOKEN_REUSED, "none", "TokenReused"],
  INTERNAL: [WireCode.INTERNAL, "unknown", "Internal"],
} as const satisfies Record<string, readonly [WireCode, Effect, string]>;

/** Why a call did not work. Each code has one reaction of the bridge, which `docs/contract.md` lists. */
export type FailureCode = keyof typeof CODES;

export const wireCode = (code: FailureCode): WireCode => CODES[code][0];
export const isFailureCode = (code: unknown): code is FailureCode => typeof code === "string" && Object.hasOwn(CODES, code);
export const failureCodes = Object.keys(CODES) as FailureCode[];

export const wireEffect: Record<Effect, WireEffect> = {
  none: WireEffect.NONE,
  partial: WireEffect.PARTIAL,
  unknown: WireEffect.UNKNOWN,
};

/** A field at fault: a JSON Pointer into the parameters; empty: the external name. */
export interface FieldViolation {
  path: string;
  message: string;
}

/** What a failure can report beside its code and message. */
export interface FailureOptions {
  /** What the call left behind, where the usual effect of the code is not true. */
  effect?: Effect;
  /** A stable reason in PascalCase, at most 63 bytes: a condition's reason, a metric's label. Unset: the code's own name. */
  reason?: string;
  /** No retry sooner than this; the bridge takes more than an hour for an hour. */
  retryAfter?: Duration;
  /** The one field at fault, with the failure's message. */
  path?: string;
  /** The fields at fault. */
  violations?: readonly FieldViolation[];
  /** The upstream's own code: `DBInstanceAlreadyExists`. */
  upstreamCode?: string;
  /** The upstream's request id. */
  upstreamRequestId?: string;
  /** What is in the way, for ALREADY_EXISTS. */
  existingExternalName?: string;
  cause?: unknown;
}

/**
 * Why a call did not work, and what it left behind: thrown by the author's code. There is one function per code; each sets the effect that is
 * usual for it. Texts hold no secrets.
 *
 * In a creation, once the upstream has given a name (`call.recordName`), the effect "none" is sent as "partial", save with NOT_FOUND: a name
 * is given with a resource.
 */
export class Failure extends Error {
  readonly code: FailureCode;
  readonly effect: Effect;
  readonly reason: string;
  readonly retryAfter: Duration | undefined;
  readonly violations: readonly FieldViolation[];
  readonly upstreamCode: string;
  readonly upstreamRequestId: string;
  readonly existingExternalName: string;

  constructor(code: FailureCode, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Failure";
    this.code = code;
    this.effect = options.effect ?? CODES[code][1];
    this.reason = options.reason ?? CODES[code][2];
    this.retryAfter = options.retryAfter;
    this.violations = options.violations ?? (options.path === undefined ? [] : [{ path: options.path, message }]);
    this.upstreamCode = options.upstreamCode ?? "";
    this.upstreamRequestId = options.upstreamRequestId ?? "";
    this.existingExternalName = options.existingExternalName ?? "";
  }

  /** The object waits for a spec change. Nothing was done. */
  static invalidSpec(message: string, options?: FailureOptions): Failure {
    return new Failure("INVALID_SPEC", message, options);
  }

  /** The desired state changes what cannot change in place. Nothing was done. */
  static immutableField(message: string, options?: FailureOptions): Failure {
    return new Failure("IMMUTABLE_FIELD", message, options);
  }

  /** What is asked for cannot be done here at all. Nothing was done. */
  static unsupported(message: string, options?: FailureOptions): Failure {
    return new Failure("UNSUPPORTED", message, options);
  }

  /** A resource of this name exists, and not by this request. Nothing was done. */
  static alreadyExists(existingExternalName: string, message: string, options?: FailureOptions): Failure {
    return new Failure("ALREADY_EXISTS", message, { existingExternalName, ...options });
  }

  /** The resource to update or delete is absent, or has another owner. Nothing was done. */
  static notFound(message: string, options?: FailureOptions): Failure {
    return new Failure("NOT_FOUND", message, options);
  }

  /** Busy, locked, or another etag: observed again, then retried. Nothing was done. */
  static conflict(message: string, options?: FailureOptions): Failure {
    return new Failure("CONFLICT", message, options);
  }

  /** Something else must come first: retried, and reported as waiting. Nothing was done. */
  static dependencyNotReady(message: string, options?: FailureOptions): Failure {
    return new Failure("DEPENDENCY_NOT_READY", message, options);
  }

  /** The settings are wrong: every object of the config waits. Nothing was done. */
  static invalidConfig(message: string, options?: FailureOptions): Failure {
    return new Failure("INVALID_CONFIG", message, options);
  }

  /** The credentials are rejected: every object of the config waits. Nothing was done. */
  static unauthenticated(message: string, options?: FailureOptions): Failure {
    return new Failure("UNAUTHENTICATED", message, options);
  }

  /** The credentials are stale: the bridge reads them afresh. Nothing was done. */
  static credentialsExpired(message: string, options?: FailureOptions): Failure {
    return new Failure("CREDENTIALS_EXPIRED", message, options);
  }

  /** These credentials may not do this. Nothing was done. */
  static permissionDenied(message: string, options?: FailureOptions): Failure {
    return new Failure("PERMISSION_DENIED", message, options);
  }

  /** An upstream rate limit: every object of this config and rate-limit group waits. Nothing was done. */
  static throttled(retryAfter: Duration, message: string, options?: FailureOptions): Failure {
    return new Failure("THROTTLED", message, { retryAfter, ...options });
  }

  /** A person must raise a limit. Nothing was done. */
  static quotaExceeded(message: string, options?: FailureOptions): Failure {
    return new Failure("QUOTA_EXCEEDED", message, options);
  }

  /** Upstream 5xx or network failure. What it left behind is unknown. */
  static unavailable(message: string, options?: FailureOptions): Failure {
    return new Failure("UNAVAILABLE", message, options);
  }

  /** No answer in time. What it left behind is unknown. */
  static timeout(message: string, options?: FailureOptions): Failure {
    return new Failure("TIMEOUT", message, options);
  }

  /** The operation ended badly, or was stopped upstream. What it left behind is unknown. */
  static operationFailed(message: string, options?: FailureOptions): Failure {
    return new Failure("OPERATION_FAILED", message, options);
  }

  /** The handle is of no more use. The poll changed nothing. */
  static operationExpired(message: string, options?: FailureOptions): Failure {
    return new Failure("OPERATION_EXPIRED", message, options);
  }

  /** Another request came earlier under this token. Nothing was done. */
  static tokenReused(message: string, options?: FailureOptions): Failure {
    return new Failure("TOKEN_REUSED", message, options);
  }

  /** A bug in the plugin. What it left behind is unknown. */
  static internal(message: string, options?: FailureOptions): Failure {
    return new Failure("INTERNAL", message, options);
  }
}

/** The call is not processed, and nothing was done: a gRPC status in place of an answer. */
export class Rejection extends Error {
  constructor(
    readonly status: status,
    message: string,
  ) {
    super(message);
    this.name = "Rejection";
  }
}

/**
 * What the bridge handed back is not what this plugin gave out: a malformed or foreign `handle`, `target.provider_state` or `page_token`. Nothing
 * was done. The bridge receives gRPC INVALID_ARGUMENT.
 */
export class InvalidArgument extends Rejection {
  constructor(
    readonly field: string,
    problem: string,
  ) {
    super(status.INVALID_ARGUMENT, `${field}: ${problem}`);
    this.name = "InvalidArgument";
  }
}
