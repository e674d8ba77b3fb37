// Lists of events.
import { type EventRow, findEvent, findEvents } from "../../db/outbox/events.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { validationError } from "../../domain/errors.ts";
import { eventPayload } from "../../domain/outbox/event.ts";
import { type EventType, eventTypesFor } from "../../domain/outbox/event_types.ts";
import { type Access, requirePermission, seesOperators } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";

interface EventFilter extends PageInput {
  readonly type?: EventType | undefined;
  /** Inclusive. */
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

/**
 * Lists events as endpoints get them, newest first: an organization's, or all for an operator.
 *
 * @throws {AppError} `forbidden`; `validation_failed` for an invalid cursor or range.
 */
export async function listEvents(
  { database }: SessionContext,
  scope: Access | OperatorActor,
  { type, from = 0, to = Number.MAX_SAFE_INTEGER, limit, cursor }: EventFilter,
) {
  const isForAll = "type" in scope;
  if (!isForAll) requirePermission(scope, "webhooks.read");
  const isForOperators = isForAll || seesOperators(scope);
  requireIdCursor(cursor, "evt");
  if (to <= from) throw validationError([{ path: "to", message: "must be after “from”." }]);
  const organizationId = isForAll ? null : scope.organizationId;
  const last = cursor === undefined ? undefined : await findEvent(database, { organizationId, id: cursor });
  // Events are deleted oldest first, so that nothing follows one that is gone.
  if (cursor !== undefined && last === undefined) return { events: [], nextCursor: null };
  const { rows, nextCursor } = await readPage<EventRow>((limit) =>
    findEvents(database, {
      organizationId,
      types: type === undefined ? eventTypesFor({ isForOperators }) : [type],
      from,
      before: last !== undefined && last.at < to ? last : { at: to, seq: 0 },
      limit,
    }), { limit, cursorOf: ({ id }) => id });
  const events = rows.map((row) => ({ id: row.id, ...eventPayload(row, { isForOperators }) }));
  return { events, nextCursor };
}
