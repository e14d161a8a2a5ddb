// The one place where errors become failures.

import { Failure, type FailureCode, isFailureCode, Rejection } from "./failure.js";

/**
 * What an error of the upstream's client means: by its `name` or its `code`, a failure code or a function that creates the failure. The text of
 * an error that is mapped to a code is sent: map only those whose text holds no secret.
 */
export type ErrorTable = Readonly<Record<string, FailureCode | ((error: Error) => Failure)>>;

/** Network errors of Node.js. Whether the request had an effect is unknown. */
const NETWORK = new Set([
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_SOCKET",
]);

/** Of an HTTP response, by its status. Of 404 there is none: only the resource's own absence is absence, which the author's code must know. */
const HTTP: Readonly<Record<number, FailureCode>> = {
  400: "INVALID_SPEC",
  401: "UNAUTHENTICATED",
  402: "QUOTA_EXCEEDED",
  403: "PERMISSION_DENIED",
  408: "TIMEOUT",
  409: "CONFLICT",
  412: "CONFLICT",
  422: "INVALID_SPEC",
  423: "CONFLICT",
  429: "THROTTLED",
  501: "UNSUPPORTED",
};

/** The failure that an HTTP response stands for, by its status and `retry-after`. The message is the author's: bodies may hold secrets. */
export function failureOfResponse(response: { status: number; headers: Headers }, message: string): Failure {
  const code = HTTP[response.status] ?? (response.status >= 500 ? "UNAVAILABLE" : "INTERNAL");
  const seconds = retryAfter(response.headers.get("retry-after"));
  // The contract wants it with THROTTLED.
  const wait = seconds ?? (code === "THROTTLED" ? 2 : undefined);
  return new Failure(code, message, {
    upstreamCode: String(response.status),
    ...(wait === undefined ? {} : { retryAfter: { seconds: wait } }),
  });
}

function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/** A failure or a rejection as it is; any other error by the author's table, then by what Node.js reports; else a bug. */
export function asFailure(error: unknown, table: ErrorTable): Failure | Rejection | Bug {
  if (error instanceof Failure || error instanceof Rejection) return error;
  if (!(error instanceof Error)) return new Bug(error);
  const keys = [error.name, codeOf(error)].filter((key) => key !== undefined);
  for (const key of keys) {
    const entry = Object.hasOwn(table, key) ? table[key] : undefined;
    if (typeof entry === "function") {
      return mapped(entry, error);
    }
    if (isFailureCode(entry)) {
      return new Failure(entry, error.message || key, {
        cause: error,
        upstreamCode: key,
        ...(entry === "THROTTLED" ? { retryAfter: { seconds: 2 } } : {}),
      });
    }
  }
  if (error.name === "AbortError" || error.name === "TimeoutError") {
    return Failure.timeout("the upstream did not answer before the call's deadline", { cause: error });
  }
  const network = networkCode(error);
  return network === undefined
    ? new Bug(error)
    : Failure.unavailable(`the upstream cannot be reached: ${network}`, { cause: error, upstreamCode: network });
}

/** What the author's own function makes of an error. */
function mapped(entry: (error: Error) => Failure, error: Error): Failure | Bug {
  try {
    const failure: unknown = entry(error);
    return failure instanceof Failure ? failure : new Bug(error);
  } catch (thrown) {
    return new Bug(thrown);
  }
}

/** The author's code threw what nothing maps. Its text may hold anything, secrets too; its type and the places of its stack do not. */
export class Bug {
  readonly failure: Failure;

  constructor(readonly error: unknown) {
    this.failure = Failure.internal("internal error in the plugin; see its log", { cause: error });
  }

  /** What the log may show: the error's type, and where it was thrown. */
  get places(): string[] {
    if (!(this.error instanceof Error)) return [typeof this.error];
    const stack = (this.error.stack ?? "").split("\n").filter((line) => /^ {4}at /.test(line));
    return [this.error.constructor.name, ...stack.map((line) => line.trim())];
  }
}

const codeOf = (error: Error): string | undefined => ("code" in error && typeof error.code === "string" ? error.code : undefined);

/** `fetch` hides it in the cause. */
function networkCode(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > 4) return undefined;
  const code = codeOf(error);
  return code !== undefined && NETWORK.has(code) ? code : networkCode(error.cause, depth + 1);
}
