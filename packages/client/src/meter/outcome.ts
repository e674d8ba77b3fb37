// Decides about the records of a request by its response.
import type { Line } from "./queue.ts";
import { futureMaxMs, parseLine, type SentRecord } from "./record.ts";

/** A response, or the reason that there is none. */
export interface Reply {
  /** 0 without a response. */
  readonly status: number;
  /** The JSON object of the response, if any. */
  readonly body: unknown;
  readonly reason: string;
  readonly retryAfterMs: number;
  /** The server's clock in milliseconds since 1970; NaN if unknown. */
  readonly serverTime: number;
}

export type Outcome =
  | { readonly kind: "recorded"; readonly duplicates: number }
  /** Some can't ever be recorded. The others are sent again, in parts. */
  | { readonly kind: "split"; readonly rejected: readonly Line[]; readonly parts: readonly Line[][] }
  | {
    readonly kind: "wait";
    readonly pauseMs: number;
    readonly isOverloaded: boolean;
    readonly reason: string;
  };

interface Detail {
  readonly path?: unknown;
  readonly productSlug?: unknown;
  readonly metric?: unknown;
  readonly per?: unknown;
  readonly remaining?: unknown;
  readonly resetsAt?: unknown;
}

interface ErrorBody {
  readonly code: string;
  readonly details: readonly Detail[];
}

/** Records further in the future don't hold up others. */
const clockFaultMaxMs = 24 * 3_600_000;

/** Decides about the records of a request by its response. */
export function outcomeOf(reply: Reply, lines: readonly Line[]): Outcome {
  const { status, body } = reply;
  const wait = {
    kind: "wait",
    pauseMs: reply.retryAfterMs,
    reason: reply.reason,
    isOverloaded: false,
  } as const;
  if (status >= 200 && status < 300) {
    const { accepted, duplicates } = (body ?? {}) as { accepted?: unknown; duplicates?: unknown };
    const isRecorded = typeof duplicates === "number" && Number(accepted) + duplicates === lines.length;
    // A response with another body comes from something in between, such as a sign-in page.
    return isRecorded ? { kind: "recorded", duplicates } : wait;
  }
  if (status === 0 || status === 408 || status >= 500) return { ...wait, isOverloaded: true };
  const error = errorOf(body);
  if (status === 429 && error?.code === "limit_exceeded") return overLimit(lines, error.details);
  const isFinal = status === 413 || (error !== null && [400, 409, 422].includes(status));
  if (!isFinal) return wait;
  const named = error === null ? [] : error.details.map(({ path }) => indexOf(path));
  const indexes = new Set(named);
  const rejected = lines.length === 1 ? lines : lines.filter((_, index) => indexes.has(index));
  const aheadMs = Math.max(...rejected.map((line) => millisecondsAhead(line, reply.serverTime)));
  if (
    aheadMs > futureMaxMs && aheadMs < clockFaultMaxMs &&
    error?.details.some(({ path }) => String(path).endsWith("timestamp"))
  ) {
    const reason = `this machine's clock is ${Math.round(aheadMs / 1000)} seconds ahead`;
    return { ...wait, pauseMs: aheadMs - futureMaxMs, reason };
  }
  if (rejected.length === 0) return { kind: "split", rejected, parts: halves(lines) };
  return { kind: "split", rejected, parts: [lines.filter((line) => !rejected.includes(line))] };
}

/** Returns the index in a path such as `records[17].quantity`, or Infinity. */
function indexOf(path: unknown): number {
  const [, index = Infinity] = /^records\[(\d+)\]/.exec(String(path)) ?? [];
  return Number(index);
}

function errorOf(body: unknown): ErrorBody | null {
  const { error } = (body ?? {}) as { error?: { code?: unknown; details?: unknown } };
  if (typeof error?.code !== "string") return null;
  const details = Array.isArray(error.details) ? error.details : [];
  return {
    code: error.code,
    details: details.filter((detail) => typeof detail === "object" && detail !== null),
  };
}

/** Returns how far ahead of the server's clock a record is; 0 if it isn't. */
function millisecondsAhead({ text }: Line, serverTime: number): number {
  return Math.max(Date.parse(parseLine(text)?.timestamp ?? "") - serverTime, 0) || 0;
}

function halves(lines: readonly Line[]): Line[][] {
  const middle = Math.ceil(lines.length / 2);
  return [lines.slice(0, middle), lines.slice(middle)];
}

/**
 * Rejects the records that don't fit into a limit even alone. The others are sent in parts: some may have been recorded before, and
 * then take no room. Waiting would not help: usage counts in the window of its timestamp.
 *
 * @param limits Those that the records together don't fit into.
 */
function overLimit(lines: readonly Line[], limits: readonly Detail[]): Outcome {
  if (lines.length === 1) return { kind: "split", rejected: lines, parts: [] };
  const records = lines.map(({ text }) => parseLine(text) ?? {} as SentRecord);
  // A response doesn't say whose limit it is.
  const owners = records.map(({ organizationId, externalId, apiKeyId }) =>
    JSON.stringify([organizationId, externalId, apiKeyId])
  );
  const distinct = [...new Set(owners)];
  if (distinct.length > 1) {
    const first = new Set(distinct.slice(0, Math.ceil(distinct.length / 2)));
    const isFirst = (_: unknown, index: number) => first.has(owners[index] ?? "");
    const parts = [lines.filter(isFirst), lines.filter((_, index) => !isFirst(_, index))];
    return { kind: "split", rejected: [], parts };
  }
  const states = limits.map((limit) => ({ limit, left: Number(limit.remaining) }));
  const rejected: Line[] = [];
  const fitting: Line[] = [];
  const later: Line[] = [];
  for (const [index, line] of lines.entries()) {
    const record = records[index] ?? {} as SentRecord;
    const own = states.filter(({ limit }) => counts(limit, record));
    if (own.some(({ limit }) => record.quantity > Number(limit.remaining))) rejected.push(line);
    else if (own.some(({ left }) => record.quantity > left)) later.push(line);
    else {
      fitting.push(line);
      for (const state of own) state.left = Number((state.left - record.quantity).toFixed(6));
    }
  }
  return { kind: "split", rejected, parts: fitting.length < lines.length ? [fitting, later] : halves(lines) };
}

const hourMs = 3_600_000;
/** The lengths of windows at least, by `per`: one day of the year has 23 hours. */
const windowMs: Readonly<Record<string, number>> = {
  minute: 60_000,
  hour: hourMs,
  day: 23 * hourMs,
  month: 28 * 24 * hourMs - hourMs,
};

/** True if a record surely counts towards a limit's window. */
function counts({ productSlug, metric, per, resetsAt }: Detail, record: SentRecord): boolean {
  if ((productSlug ?? record.productSlug) !== record.productSlug) return false;
  if ((metric ?? record.metric) !== record.metric) return false;
  if (typeof resetsAt !== "string") return true;
  const time = Date.parse(record.timestamp);
  const end = Date.parse(resetsAt);
  return time < end && time >= end - (windowMs[String(per)] ?? Infinity);
}
