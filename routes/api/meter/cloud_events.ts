// Usage as CloudEvents 1.0 over HTTP: one event (structured), several (batched), or one whose attributes are headers
// (binary). See docs/decisions/0015.
import type { z } from "@hono/zod-openapi";
import { AppError, type ErrorDetail, validationError } from "../../../domain/errors.ts";
import { jsonContentTypeForm } from "../../../domain/meter/cloud_event.ts";
import { timestampFault, type UsageInput } from "../../../domain/meter/usage_record.ts";
import type { RecordedUsage } from "../../../services/meter/record_group.ts";
import type { UsageService } from "../../../services/meter/usage.ts";
import { textFault } from "../../body.ts";
import type { AppContext } from "../../env.ts";
import {
  cloudEventBatchSchema,
  cloudEventBatchType,
  cloudEventSchema,
  cloudEventType,
} from "../../schemas/cloud_event.ts";
import type { OtherBody } from "../endpoint.ts";
import { check } from "../../schemas/check.ts";

/** For the OpenAPI document: which events there are, and what one becomes. */
export const cloudEventsDescription =
  `CloudEvents 1.0 are taken too: one as \`${cloudEventType}\`, up to 1,000 as \`${cloudEventBatchType}\`, and one in ` +
  "binary mode, with its attributes in headers `ce-specversion`, `ce-id`, … and its data as JSON of any type. " +
  "`id` with `source` is the idempotency key (the header `Idempotency-Key` is refused), the last segment of `source` " +
  "the product, `type` the metric, `time` the timestamp, `data.quantity` the quantity, 1 when absent.";

/** Whose events they are, and who records them. */
export interface EventRecording {
  /** SHA-256 of the API key, in hexadecimal. */
  readonly keyHash: string;
  readonly usage: UsageService;
  /** @returns Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Names a part of an event for its sender. */
type PathOf = (index: number, attribute: string) => string;

/** @returns How to read and answer a request that has events, or null when its headers say that it has none. */
export function cloudEventsBody(c: AppContext, recording: EventRecording): OtherBody | null {
  const headers = c.get("headers");
  const given = headers["content-type"] ?? "";
  const isBinary = headers["ce-specversion"] !== undefined;
  if (given === "application/json" && !isBinary) return null;
  const type = given.toLowerCase();
  if (type.startsWith("application/cloudevents-batch")) return batched(c, recording);
  if (type.startsWith("application/cloudevents")) return structured(c, recording);
  return isBinary ? binary(c, recording) : null;
}

function structured(c: AppContext, recording: EventRecording): OtherBody {
  return {
    contentType: cloudEventType,
    optional: false,
    async handle({ value, bytes }) {
      refuseIdempotencyHeader(c);
      const event = check(cloudEventSchema, value, "body") as z.output<typeof cloudEventSchema>;
      return single(c, await record([event], { ...recording, bytes, pathOf: (_index, name) => name }));
    },
  };
}

function batched(c: AppContext, recording: EventRecording): OtherBody {
  return {
    contentType: cloudEventBatchType,
    optional: false,
    async handle({ value, bytes }) {
      refuseIdempotencyHeader(c);
      const events = check(cloudEventBatchSchema, value, "body") as z.output<typeof cloudEventBatchSchema>;
      const pathOf: PathOf = (index, name) => `[${index}].${name}`;
      const { duplicates } = await record(events, { ...recording, bytes, pathOf });
      return c.json({ accepted: events.length - duplicates, duplicates }, 201);
    },
  };
}

/** @returns The type that a binary event's body must have: the one that it has, where that is JSON. */
function dataType(given: string | undefined): string {
  // Some SDKs say none; what is no JSON is found when it is read.
  if (given === undefined) return "";
  return jsonContentTypeForm.test(given)
    ? given.replace(/ *;.*/, "").trim().toLowerCase()
    : "application/json";
}

function binary(c: AppContext, recording: EventRecording): OtherBody {
  return {
    contentType: dataType(c.get("headers")["content-type"]),
    // An event without data has no body.
    optional: true,
    async handle({ value, bytes }) {
      refuseIdempotencyHeader(c);
      const attributes = attributesOf(c);
      let event: UsageInput;
      try {
        event = check(cloudEventSchema, { ...attributes, data: value }, "body") as UsageInput;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        throw validationError((error.details ?? []).map(inHeader));
      }
      return single(
        c,
        await record([event], { ...recording, bytes, pathOf: (_index, name) => `ce-${name}` }),
      );
    },
  };
}

/** Extension attributes are passed over, so only these are read; the last two to be refused. */
const headerAttributes = ["specversion", "id", "source", "type", "time", "subject", "quantity", "timestamp"];

/** @throws {AppError} `validation_failed` for a header that was not written as the specification says. */
function attributesOf(c: AppContext): Record<string, string> {
  const headers = c.get("headers");
  const attributes: Record<string, string> = {};
  for (const name of headerAttributes) {
    const given = headers[`ce-${name}`];
    if (given === undefined) continue;
    const value = headerValue(given);
    const message = value === null
      ? "must be ASCII, with everything else percent-encoded in UTF-8."
      : textFault(value);
    if (message !== null) throw validationError([{ path: `ce-${name}`, message }]);
    attributes[name] = value ?? "";
  }
  return attributes;
}

/**
 * Reads an attribute in a header: quotes first, then percent-encoding, once (CloudEvents HTTP binding, 3.1.3.2). Some
 * senders do not encode: a percent sign that begins nothing stands for itself.
 *
 * @returns The attribute, or null when it has characters that a header has not.
 */
function headerValue(given: string): string | null {
  if (!/^[\t\x20-\x7e]*$/.test(given)) return null;
  const quoted = /^"(.*)"$/.exec(given)?.[1];
  const value = quoted === undefined ? given : quoted.replaceAll(/\\(.)/g, "$1");
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Names the header of a fault in an attribute; data is in the body. */
function inHeader({ path, message }: ErrorDetail): ErrorDetail {
  return { path: /^data\b/.test(path) ? path : `ce-${path}`, message };
}

function refuseIdempotencyHeader(c: AppContext): void {
  if (c.get("headers")["idempotency-key"] === undefined) return;
  const message = "is not for CloudEvents; their source and id are the idempotency key.";
  throw validationError([{ path: "Idempotency-Key", message }]);
}

function single(c: AppContext, { duplicates, usageRecord }: RecordedUsage): Response {
  return duplicates > 0
    ? c.json({ duplicate: true, usageRecord: usageRecord(0) }, 200)
    : c.json({ usageRecord: usageRecord(0) }, 201);
}

async function record(
  events: readonly UsageInput[],
  options: EventRecording & { bytes: number; pathOf: PathOf },
): Promise<RecordedUsage> {
  const { keyHash, usage, bytes, pathOf } = options;
  const now = options.clock();
  const faults = events.flatMap(({ timestamp }, index) => {
    const message = timestampFault(timestamp, now);
    return message === null ? [] : [{ path: pathOf(index, "time"), message }];
  });
  if (faults.length > 0) throw validationError(faults.slice(0, 100));
  try {
    return await usage.recordUsage(keyHash, events, bytes);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "idempotency_conflict") throw error;
    // It names the key of a record, which is made of these two and was never sent.
    throw new AppError(
      "idempotency_conflict",
      "An event with this source and id was recorded before with other content.",
      {
        details: (error.details ?? []).map(({ path, message }) => ({
          path: pathOf(Number(/^records\[(\d+)\]/.exec(path)?.[1] ?? 0), "id"),
          message,
        })),
      },
    );
  }
}
