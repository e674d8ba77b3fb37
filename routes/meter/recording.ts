// Records the usage of a request and responds, for every format that usage is sent in.
import type { z } from "@hono/zod-openapi";
import { AppError, validationError } from "../../domain/errors.ts";
import { errorDetailsMax } from "../../domain/limits.ts";
import type { LimitPeriod, LimitStanding } from "../../domain/meter/usage_limit.ts";
import { timestampFault, type UsageInput } from "../../domain/meter/usage_record.ts";
import type { RecordedUsage } from "../../services/meter/mod.ts";
import type { Context } from "../../services/context.ts";
import type { AppContext } from "../env.ts";
import type { usageInputSchema } from "./schemas/usage.ts";

/** Converts a record as sent in JSON. @param header The idempotency key of a body without one. */
export function usageInput(
  body: z.output<typeof usageInputSchema>,
  header: string | null = null,
): UsageInput {
  const { productSlug, metric, quantity, timestamp = null, idempotencyKey, properties = null } = body;
  return { productSlug, metric, quantity, timestamp, idempotencyKey: idempotencyKey ?? header, properties };
}

/**
 * Records the usage of one request, and sets the headers of the limits that apply.
 *
 * @param options `bytes`: the size of the body. `timePath`: names the field of a record's timestamp in errors.
 * @throws {AppError} `validation_failed` with a detail for every timestamp out of range, and as `Recorder.record`.
 */
export async function recordRequest(
  c: AppContext,
  context: Context,
  keyHash: string,
  options: { inputs: readonly UsageInput[]; bytes: number; timePath: (index: number) => string },
): Promise<RecordedUsage> {
  const { inputs, bytes, timePath } = options;
  const now = context.clock();
  const faults = inputs.flatMap(({ timestamp }, index) => {
    const message = timestampFault(timestamp, now);
    return message === null ? [] : [{ path: timePath(index), message }];
  });
  if (faults.length > 0) throw validationError(faults.slice(0, errorDetailsMax));
  try {
    const recorded = await context.recorder.record({ keyHash, client: c.get("client"), inputs, bytes });
    if (recorded.duplicates === inputs.length) c.set("isRepeat", true);
    addLimitHeaders(c, recorded.limits, now);
    return recorded;
  } catch (error) {
    if (error instanceof AppError) addLimitHeaders(c, error.limits ?? [], now);
    throw error;
  }
}

/** Responds with one usage record: 201 if it is new, 200 if it was recorded before. */
export function sendRecord(c: AppContext, { duplicates, usageRecord, limits }: RecordedUsage): Response {
  return duplicates > 0
    ? c.json({ duplicate: true, usageRecord: usageRecord(0), ...given(limits) }, 200)
    : c.json({ usageRecord: usageRecord(0), ...given(limits) }, 201);
}

/** Responds with how many records of a batch of `count` were new, and how many were recorded before. */
export function sendBatch(c: AppContext, { duplicates, limits }: RecordedUsage, count: number): Response {
  return c.json({ accepted: count - duplicates, duplicates, ...given(limits) }, 201);
}

function given(limits: readonly LimitStanding[]) {
  return limits.length > 0 && { limits };
}

/** The seconds of a window; those of months differ. */
const windowSeconds: Readonly<Partial<Record<LimitPeriod, number>>> = {
  minute: 60,
  hour: 3_600,
  day: 24 * 3_600,
};
/** The largest integer in a header. */
const integerMax = 999_999_999_999_999;

/**
 * Adds the hard or cutoff limit with the smallest part left, if there is any, to the headers of the key's rate limit
 * (draft-ietf-httpapi-ratelimit-headers).
 *
 * @param now Milliseconds since 1970.
 */
export function addLimitHeaders(c: AppContext, limits: readonly LimitStanding[], now: number): void {
  const partLeft = ({ remaining, quantity }: LimitStanding) => quantity === 0 ? 0 : remaining / quantity;
  const [tightest] = limits.filter(({ mode }) => mode !== "soft").sort((a, b) => partLeft(a) - partLeft(b));
  if (tightest === undefined) return;
  const { limitId, per, quantity, remaining, resetsAt } = tightest;
  const whole = (value: number) => Math.min(Math.floor(value), integerMax);
  const seconds = resetsAt === null ? null : Math.max(0, Math.ceil((Date.parse(resetsAt) - now) / 1000));
  const time = seconds === null ? "" : `;t=${seconds}`;
  const window = windowSeconds[per] === undefined ? "" : `;w=${windowSeconds[per]}`;
  const added = {
    "ratelimit": `"${limitId}";r=${whole(remaining)}${time}`,
    "ratelimit-policy": `"${limitId}";q=${whole(quantity)}${window}`,
  };
  const earlier = new Map(c.get("responseHeaders"));
  for (const [name, value] of Object.entries(added)) {
    const before = earlier.get(name);
    earlier.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  c.set("responseHeaders", [...earlier]);
}
