// What the SDK reports, on standard error unless the author has a log of their own.

import { AsyncLocalStorage } from "node:async_hooks";

/** What stands beside a message. Nothing secret. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A log, such as pino's or winston's behind an adapter. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

/** Of the call that runs: what each of its lines has. */
export const callFields = new AsyncLocalStorage<LogFields>();

/** One line of `key=value` for each event, on standard error. */
export function textLogger(least: Level = "info", write = (line: string): unknown => process.stderr.write(`${line}\n`)): Logger {
  const line = (level: Level, message: string, fields: LogFields = {}): void => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
    const all = Object.entries({ ...callFields.getStore(), ...fields }).filter(([, value]) => value !== undefined && value !== "");
    const text = all.map(([key, value]) => `${key}=${quoted(String(value))}`).join(" ");
    write(`${new Date().toISOString()} ${level.toUpperCase()} ${quotedMessage(message)}${text === "" ? "" : ` ${text}`}`);
  };
  return {
    debug: (message, fields) => {
      line("debug", message, fields);
    },
    info: (message, fields) => {
      line("info", message, fields);
    },
    warn: (message, fields) => {
      line("warn", message, fields);
    },
    error: (message, fields) => {
      line("error", message, fields);
    },
  };
}

const quoted = (value: string): string => (/^[\w.:/@%+,-]+$/.test(value) ? value : JSON.stringify(value));

/** One event is one line. */
const quotedMessage = (message: string): string => message.replaceAll("\n", "\\n");
