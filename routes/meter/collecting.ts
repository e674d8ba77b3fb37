// Usage that gateways report: CloudEvents with an operator token in place of an API key.
import { z } from "@hono/zod-openapi";
import { isOperatorToken } from "../../domain/access/operator_token.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, type ErrorDetail, errorStatuses } from "../../domain/errors.ts";
import { jsonDepthMax } from "../../domain/limits.ts";
import { checkJsonBounds } from "../../domain/json_bounds.ts";
import type { CollectedEvent } from "../../domain/meter/event_mapping.ts";
import { requireOperatorToken } from "../../services/access/mod.ts";
import { collectEvents, type EventRejection, type InvalidEvent } from "../../services/meter/mod.ts";
import type { Services } from "../../services/services.ts";
import { bearerToken, bearerTokenHash, limitInvalidToken } from "../api/bearer.ts";
import type { OtherBody } from "../api/endpoint.ts";
import { checkTexts } from "../body.ts";
import type { AppContext, AppParts } from "../env.ts";
import { batchArray } from "../schemas/batch_array.ts";
import { check } from "../schemas/check.ts";
import { apiKeyAuth } from "./api_key_auth.ts";
import { type EventForm, eventsBody } from "./cloud_events.ts";
import { collectedEventSchema } from "./schemas/event_mappings.ts";

/** Further errors of routes that accept events of collectors. */
export const collectorErrors = [
  "invalid_operator_token",
  "scope_missing",
  "event_unmapped",
  "subject_unknown",
  "nothing_to_record",
] as const;

/** Returns the options of `mount` for routes that accept API keys, or operator tokens that may collect. */
export function keyOrCollectorAuth(parts: AppParts) {
  const { services } = parts;
  const key = apiKeyAuth(parts);
  const isCollector = (c: AppContext) =>
    isOperatorToken(bearerToken(c.get("headers")["authorization"]) ?? "");
  return {
    /** Returns the hash of the key, or the operator. @throws {AppError} As `apiKeyAuth`; `invalid_operator_token`, `scope_missing`. */
    async authenticate(c: AppContext): Promise<string | OperatorActor> {
      if (!isCollector(c)) return await key.authenticate(c);
      // Large bodies of collectors leave room for those of operators.
      c.set("bodyPlace", c.get("bodyRooms").keys.open("collectors"));
      return await requireOperatorToken(services, {
        tokenHash: bearerTokenHash(c.get("headers")["authorization"]),
        scope: "usage:collect",
        client: c.get("client"),
      });
    },
    onError: async (c: AppContext, error: unknown): Promise<unknown> =>
      isCollector(c) ? limitInvalidToken(services, c, error) : await key.onError(c, error),
  };
}

type Collected = CollectedEvent | InvalidEvent;

/** Returns the handler for events of a collector. Each is checked by itself, so that a bad one stops no other. */
export function collectedBody(c: AppContext, services: Services, actor: OperatorActor): OtherBody {
  return { ...eventsBody(c, collectorForm(c, services, actor)), isUnchecked: true };
}

function collectorForm(c: AppContext, services: Services, actor: OperatorActor): EventForm<Collected> {
  return {
    readEvent: readCollected,
    invalidEvent,
    readBatch: (value) => check(batchSchema, value, "body").map(readCollected),
    async record(events, { pathOf, isBatch }) {
      const rejected = await collectEvents(services, actor, events);
      if (rejected.length === 0) return c.body(null, 204);
      throw rejectedError(rejected, { pathOf, isBatch });
    },
  };
}

const batchSchema = batchArray(z.unknown(), "event", "must be an array of events.");

function readCollected(value: unknown): Collected {
  try {
    checkJsonBounds(JSON.stringify(value));
    checkTexts(value);
    return check(collectedEventSchema, value, "body");
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const deep = [{ path: "data", message: `must have at most ${jsonDepthMax} levels of nesting.` }];
    return invalidEvent(value, error.details ?? deep);
  }
}

function invalidEvent(value: unknown, faults: readonly ErrorDetail[]): InvalidEvent {
  const given = Object(value) as Record<string, unknown>;
  const text = (name: string) => typeof given[name] === "string" ? given[name] : "";
  return {
    type: text("type"),
    source: text("source"),
    id: text("id"),
    subject: text("subject") || null,
    faults,
  };
}

/** Names every event that was not recorded: with its own code if it was sent alone, otherwise always with status 422. */
function rejectedError(
  rejections: readonly EventRejection[],
  { pathOf, isBatch }: { pathOf: (index: number, path: string) => string; isBatch: boolean },
): AppError {
  const details = rejections.map(({ index, path, message }) => ({ path: pathOf(index, path), message }));
  const [code = "validation_failed", ...others] = new Set(rejections.map((one) => one.code));
  const isOwn = !isBatch || (others.length === 0 && errorStatuses[code] === 422);
  const [only, more] = details;
  const message = isOwn && only !== undefined && more === undefined
    ? `“${only.path}”: ${only.message}`
    : `${details.length} events were not recorded.`;
  return new AppError(isOwn ? code : "validation_failed", message, { details });
}
