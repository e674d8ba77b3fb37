// Usage as CloudEvents 1.0 over HTTP: one event (structured mode), several (batched), or one with its attributes in headers
// (binary mode). See docs/decisions/0015.
import { AppError, type ErrorDetail, validationError } from "../../domain/errors.ts";
import { jsonContentTypeForm } from "../../domain/meter/cloud_event.ts";
import type { UsageInput } from "../../domain/meter/usage_record.ts";
import type { RecordedUsage } from "../../services/meter/mod.ts";
import type { Services } from "../../services/services.ts";
import { type JsonBody, textFault } from "../body.ts";
import type { AppContext } from "../env.ts";
import {
  cloudEventBatchSchema,
  cloudEventBatchType,
  cloudEventSchema,
  cloudEventType,
} from "./schemas/cloud_event.ts";
import type { OtherBody } from "../api/endpoint.ts";
import { check } from "../schemas/check.ts";
import { recordRequest, sendBatch, sendRecord } from "./recording.ts";

/** A paragraph for the OpenAPI document. */
export const cloudEventsDescription =
  `Also accepts CloudEvents 1.0: one event as \`${cloudEventType}\`, or in binary mode, with its attributes in the headers ` +
  "`ce-specversion`, `ce-id`, … and its data as any JSON content type. " +
  "The idempotency key is derived from `id` and `source` (the header `Idempotency-Key` is rejected). The last path " +
  "segment of `source` is the product, `type` the metric, `time` the timestamp, and `data.quantity` the quantity, which " +
  `defaults to 1.\n\nUp to 1,000 events as \`${cloudEventBatchType}\`, an array, are recorded all or none, and get the response of ` +
  "`POST /api/v1/usage/batch`. They are described only here, so that clients have one type for the response. With an operator token that may " +
  "collect, the response is that of `POST /api/v1/events`.";

/** Names an attribute of an event in errors. */
type PathOf = (index: number, attribute: string) => string;

/** Reads the events of a route. */
interface EventReader<Event> {
  /** @throws {AppError} `validation_failed`. */
  readonly readEvent: (value: unknown) => Event;
  /** @throws {AppError} `validation_failed`. */
  readonly readBatch: (value: unknown) => readonly Event[];
  /** Returns an event whose headers are invalid, if that rejects only the event and not the request. */
  readonly invalidEvent?: (value: unknown, faults: readonly ErrorDetail[]) => Event;
}

export interface EventForm<Event> extends EventReader<Event> {
  /** Records events, and responds. `bytes`: the size of the body. */
  readonly record: (
    events: readonly Event[],
    options: { readonly bytes: number; readonly pathOf: PathOf; readonly isBatch: boolean },
  ) => Promise<Response>;
}

const usageReader: EventReader<UsageInput> = {
  readEvent: (value) => check(cloudEventSchema, value, "body"),
  readBatch: (value) => check(cloudEventBatchSchema, value, "body"),
};

/** Records events with an API key. `send`: by default, the responses of `POST /api/v1/usage`. */
export function formOfKey(
  c: AppContext,
  { services, keyHash, send = {}, ...reader }: {
    readonly services: Services;
    readonly keyHash: string;
    readonly send?: { readonly record?: typeof sendRecord; readonly batch?: typeof sendBatch };
  } & EventReader<UsageInput>,
): EventForm<UsageInput> {
  const { record = sendRecord, batch = sendBatch } = send;
  return {
    ...reader,
    async record(inputs, { isBatch, ...options }) {
      const recorded = await recordEvents(c, services, keyHash, { inputs, ...options });
      return isBatch ? batch(c, recorded, inputs.length) : record(c, recorded);
    },
  };
}

/** Returns the handler for a request with events, or null if its headers announce none. */
export function cloudEventsBody(c: AppContext, services: Services, keyHash: string): OtherBody | null {
  const { "content-type": type, "ce-specversion": version } = c.get("headers");
  const hasEvents = version !== undefined ||
    (type !== "application/json" && type?.toLowerCase().startsWith("application/cloudevents"));
  return hasEvents ? eventsBody(c, formOfKey(c, { services, keyHash, ...usageReader })) : null;
}

/** Returns the handler for a request with events. Plain JSON is an event or an array of them. */
export function eventsBody<Event>(c: AppContext, form: EventForm<Event>): OtherBody {
  const { "content-type": given, "ce-specversion": version } = c.get("headers");
  const recordBatch = async ({ value, bytes }: JsonBody) => {
    const pathOf: PathOf = (index, name) => `[${index}].${name}`;
    return await form.record(form.readBatch(value), { bytes, pathOf, isBatch: true });
  };
  const recordEvent = async ({ value, bytes }: JsonBody) => {
    const pathOf: PathOf = (_index, name) => name;
    return await form.record([form.readEvent(value)], { bytes, pathOf, isBatch: false });
  };
  const type = given?.toLowerCase() ?? "";
  if (type.startsWith("application/cloudevents-batch")) return bodyOf(c, cloudEventBatchType, recordBatch);
  if (type.startsWith("application/cloudevents")) return bodyOf(c, cloudEventType, recordEvent);
  if (version === undefined) {
    return bodyOf(
      c,
      "application/json",
      (body) => Array.isArray(body.value) ? recordBatch(body) : recordEvent(body),
    );
  }
  // An event without data has no body. The body is the data.
  return {
    ...bodyOf(c, dataType(given), async ({ value, bytes }) => {
      const pathOf: PathOf = (_index, name) => inHeader(name);
      return await form.record([binaryEvent(c, value, form)], { bytes, pathOf, isBatch: false });
    }),
    optional: true,
    isFreeText: true,
  };
}

function bodyOf(c: AppContext, contentType: string, handle: OtherBody["handle"]): OtherBody {
  return {
    contentType,
    optional: false,
    handle: async (body) => {
      if (c.get("headers")["idempotency-key"] !== undefined) {
        const message = "is not allowed with CloudEvents, which are identified by source and id.";
        throw validationError([{ path: "Idempotency-Key", message }]);
      }
      return await handle(body);
    },
  };
}

/** Returns the content type that the body of a binary event must have: its own, if that is JSON. */
function dataType(given: string | undefined): string {
  // Some SDKs send none. Parsing the body finds out whether it is JSON.
  if (given === undefined) return "";
  return jsonContentTypeForm.test(given)
    ? given.replace(/ *;.*/, "").trim().toLowerCase()
    : "application/json";
}

/** The attributes that are read, and two names that are rejected. Other extension attributes are ignored. */
const headerAttributes = ["specversion", "id", "source", "type", "time", "subject", "quantity", "timestamp"];

/** @throws {AppError} `validation_failed` that names the header of an invalid attribute. */
function binaryEvent<Event>(c: AppContext, data: unknown, form: EventReader<Event>): Event {
  const headers = c.get("headers");
  const event: Record<string, unknown> = { data };
  const faults: ErrorDetail[] = [];
  for (const name of headerAttributes) {
    const given = headers[`ce-${name}`];
    if (given === undefined) continue;
    const value = headerValue(given);
    const message = value === null
      ? "must be ASCII; percent-encode all other characters as UTF-8."
      : textFault(value);
    if (message === null) event[name] = value;
    else faults.push({ path: name, message });
  }
  try {
    if (faults.length > 0) {
      if (form.invalidEvent === undefined) throw validationError(faults);
      return form.invalidEvent(event, faults);
    }
    return form.readEvent(event);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const details = error.details ?? [];
    throw validationError(details.map(({ path, message }) => ({ path: inHeader(path), message })));
  }
}

/** Names an attribute of a binary event. Its data is the body. */
const inHeader = (path: string) => /^data\b/.test(path) ? path : `ce-${path}`;

/**
 * Decodes an attribute in a header: first quotes, then percent-encoding, once (CloudEvents HTTP binding, 3.1.3.2). Some
 * senders don't encode, so an invalid percent sequence stands for itself.
 *
 * @returns The attribute, or null if it has characters that are not allowed in headers.
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

async function recordEvents(
  c: AppContext,
  services: Services,
  keyHash: string,
  options: { inputs: readonly UsageInput[]; bytes: number; pathOf: PathOf },
): Promise<RecordedUsage> {
  const { pathOf } = options;
  try {
    const timePath = (index: number) => pathOf(index, "time");
    return await recordRequest(c, services, keyHash, { ...options, timePath });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "idempotency_conflict") throw error;
    // The details name an idempotency key that the sender doesn't know.
    const message = "An event with this source and id has already been recorded with different content.";
    const details = (error.details ?? []).map(({ path, message }) => ({
      path: pathOf(Number(/^records\[(\d+)\]/.exec(path)?.[1] ?? 0), "id"),
      message,
    }));
    throw new AppError("idempotency_conflict", message, { details });
  }
}
