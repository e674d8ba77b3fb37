// The log: LogTape on standard output, one JSON object a line, or text on a terminal.
import {
  ansiColorFormatter,
  configure,
  dispose,
  getLogger,
  getTextFormatter,
  jsonLinesFormatter,
  type LogRecord,
} from "@logtape/logtape";
import type { Config } from "../../config.ts";
import type { Log } from "../../routes/env.ts";
import { writeLine } from "../terminal.ts";

export interface ProgramLog extends Log {
  info(message: string, values: Record<string, unknown>): void;
  /** Writes buffered entries. */
  close(): Promise<void>;
}

export async function openLog(config: Config): Promise<ProgramLog> {
  const text = Deno.stdout.isTerminal() && !Deno.noColor
    ? ansiColorFormatter
    : getTextFormatter({ timestamp: "time" });
  const format = config.logFormat === "json"
    ? jsonLinesFormatter
    : (record: LogRecord) => text(withValues(record));
  await configure({
    sinks: { output: (record) => writeLine(format(record).trimEnd()) },
    loggers: [
      { category: "gatehouse", lowestLevel: config.logLevel, sinks: ["output"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["output"] },
    ],
    reset: true,
  });
  const logger = getLogger("gatehouse");
  const isDebug = config.logLevel === "debug";
  return {
    debug: isDebug ? (message, values) => logger.debug(message, values) : undefined,
    info: (message, values) => logger.info(message, values),
    warn: (message, values) => logger.warn(message, plain(values)),
    error: (message, values) => logger.error(message, plain(values)),
    close: dispose,
  };
}

/** Turns errors into texts with their causes: as objects they would print as {}. */
function plain(values: Record<string, unknown>): Record<string, unknown> {
  const texts = (error: unknown, depth: number): string => {
    if (!(error instanceof Error)) return String(error);
    const cause = error.cause === undefined || depth > 3
      ? ""
      : `; caused by ${texts(error.cause, depth + 1)}`;
    return `${depth === 0 ? error.stack ?? error.message : error.message}${cause}`;
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value instanceof Error ? texts(value, 0) : value]),
  );
}

function withValues(record: LogRecord): LogRecord {
  const values = Object.entries(record.properties).map(([name, value]) => `${name}=${printable(value)}`);
  return values.length === 0 ? record : {
    ...record,
    message: [...record.message.slice(0, -1), `${record.message.at(-1)} ${values.join(" ")}`],
  };
}

/** Keeps every entry on one line, also with text from clients. */
function printable(value: unknown): string {
  return typeof value === "string" && /^[\w./:@-]+$/.test(value)
    ? value
    : JSON.stringify(value) ?? "undefined";
}
