// Mappings of events to usage records, and the subjects of events.
import {
  deleteMappingRow,
  type EventFault,
  findFaults,
  findMapping,
  findMappings,
  insertMapping,
  type StoredMapping,
  updateMapping,
} from "../../db/meter/event_mappings.ts";
import {
  assignSubject,
  deleteKept,
  deleteSubject,
  endAssignment,
  type EventSubject,
  findLostCount,
  findSubjects,
  selectSubject,
} from "../../db/meter/event_subjects.ts";
import { findRecordTargets, type RecordTarget } from "../../db/meter/record_targets.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import {
  type CollectedEvent,
  type EventMapping,
  mapEvent,
  mappingFaults,
} from "../../domain/meter/event_mapping.ts";
import { joinQuantity } from "../../domain/meter/quantity.ts";
import { isoTime } from "../../domain/time.ts";
import { writeAndRead, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readIdPage, readPage, requireIdCursor } from "../pages.ts";

const mappingsMax = 200;
const deletedInOneWrite = 1_000;

const toMapping = ({ createdAt, ...mapping }: StoredMapping) => ({
  ...mapping,
  createdAt: isoTime(createdAt),
});
export type ShownMapping = ReturnType<typeof toMapping>;

/** Lists mappings, the oldest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listMappings(
  { database }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ mappings: ShownMapping[]; nextCursor: string | null }> {
  requireIdCursor(cursor, "map");
  const { rows, nextCursor } = await readPage(
    (limit) => findMappings(database, { limit, after: cursor }),
    { limit, cursorOf: ({ id }) => id },
  );
  return { mappings: rows.map(toMapping), nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getMapping({ database }: SessionContext, id: string): Promise<ShownMapping> {
  const row = await findMapping(database, id);
  if (row === undefined) throw notFoundError();
  return toMapping(row);
}

/** @throws {AppError} `validation_failed`, `mapping_taken`, `limit_reached`. */
export async function createMapping(
  context: SessionContext,
  actor: OperatorActor,
  given: Omit<EventMapping, "id">,
): Promise<ShownMapping> {
  checkMapping(given);
  const now = context.clock();
  const mapping = { id: newId("map", now), ...given };
  const isCreated = await writeChange(context, actor, {
    statement: insertMapping(mapping, { now, mappingsMax }),
    entry: { action: "mapping.created", ...entryOf(mapping) },
  });
  if (isCreated) return toMapping({ ...mapping, createdAt: now });
  const { mappings } = await listMappings(context, { limit: mappingsMax });
  throw mappings.length < mappingsMax
    ? takenError()
    : new AppError("limit_reached", `There are ${mappingsMax} mappings, which is the maximum.`);
}

function checkMapping(mapping: Omit<EventMapping, "id">): void {
  const faults = mappingFaults(mapping);
  if (faults.length > 0) throw validationError(faults);
}

/** @throws {AppError} `not_found`, `validation_failed`, `mapping_taken`. */
export async function changeMapping(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
  changes: Partial<Omit<EventMapping, "id">>,
): Promise<ShownMapping> {
  const before = await getMapping(context, id);
  const mapping = { ...before, ...changes };
  checkMapping(mapping);
  const isChanged = await writeChange(context, actor, {
    statement: updateMapping(mapping),
    entry: { action: "mapping.changed", ...entryOf(mapping) },
  });
  if (isChanged) return mapping;
  await getMapping(context, id);
  throw takenError();
}

/** @throws {AppError} `not_found`. */
export async function deleteMapping(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<void> {
  const isDeleted = await writeChange(context, actor, {
    statement: deleteMappingRow(id),
    entry: { action: "mapping.deleted", ...entryOf(await getMapping(context, id)) },
  });
  if (!isDeleted) throw notFoundError();
}

const entryOf = ({ id, name }: Pick<EventMapping, "id" | "name">) =>
  ({ organizationId: null, target: { id, name } }) as const;

const takenError = () =>
  new AppError("mapping_taken", "Another mapping is for events of this type from this source.");

export type TriedMapping = Awaited<ReturnType<typeof tryMapping>>;

/** Returns what would be recorded of an event. @throws {AppError} `not_found`, `validation_failed`, `nothing_to_record`. */
export async function tryMapping(context: SessionContext, id: string, event: CollectedEvent) {
  const mapped = mapEvent(await getMapping(context, id), event);
  if ("fault" in mapped) {
    const { code, path, message } = mapped.fault;
    throw new AppError(code, `“${path}”: ${message}`, { details: [{ path: `event.${path}`, message }] });
  }
  return {
    subject: mapped.subject,
    records: mapped.records.map(({ productSlug, metric, quantity, properties }) => ({
      productSlug,
      metric,
      quantity: joinQuantity(quantity),
      properties: properties ?? {},
    })),
  };
}

const toFault = ({ number: _, at, ...fault }: EventFault & { number: number }) => ({
  ...fault,
  at: isoTime(at),
});
export type ShownFault = ReturnType<typeof toFault>;

/** Lists events that were not recorded, for other reasons than their subject, the newest first. An invalid cursor is ignored. */
export async function listEventFaults(
  { database }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ faults: ShownFault[]; nextCursor: string | null }> {
  const before = /^\d{1,15}$/.test(cursor ?? "") ? Number(cursor) : undefined;
  const { rows, nextCursor } = await readPage(
    (limit) => findFaults(database, { limit, before }),
    { limit, cursorOf: ({ number }) => String(number) },
  );
  return { faults: rows.map(toFault), nextCursor };
}

const toSubject = ({ firstAt, lastAt, assignedAt, ...subject }: EventSubject) => ({
  ...subject,
  firstAt: isoTime(firstAt),
  lastAt: isoTime(lastAt),
  assignedAt: isoTime(assignedAt),
});
export type ShownSubject = ReturnType<typeof toSubject>;

/** Returns how many events of unlisted subjects were not kept, because there were too many. */
export async function countLostEvents({ database }: SessionContext): Promise<number> {
  return await findLostCount(database);
}

/** Lists subjects, the newest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listSubjects(
  { database }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ subjects: ShownSubject[]; nextCursor: string | null }> {
  const { rows, nextCursor } = await readIdPage(
    (page) => findSubjects(database, page),
    { prefix: "sub", limit, cursor },
  );
  return { subjects: rows.map(toSubject), nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getSubject({ database }: SessionContext, id: string): Promise<ShownSubject> {
  const found = await database.readFirst<EventSubject>(selectSubject({ id }));
  if (found === undefined) throw notFoundError();
  return toSubject(found);
}

/** Says whose usage a subject is. What was kept of it is recorded in the background. @throws {AppError} `validation_failed` for an unknown target. */
export async function assignEventSubject(
  context: SessionContext,
  actor: OperatorActor,
  { subject, target }: { subject: string; target: RecordTarget },
): Promise<ShownSubject> {
  const now = context.clock();
  const [found] = await findRecordTargets(context.database, [target]);
  const unknown = () =>
    validationError([{ path: target.kind, message: "must name an existing organization or API key." }]);
  if (found === undefined) throw unknown();
  const { isMade, row } = await writeAndRead<EventSubject>(context, actor, {
    statement: assignSubject({
      id: newId("sub", now),
      subject,
      target: found.kind === "apiKeyId" ? found.id : found.organizationId,
      now,
    }),
    entry: {
      action: "subject.assigned",
      organizationId: found.organizationId,
      target: { id: null, name: subject },
    },
  }, selectSubject({ subject }));
  if (isMade) return toSubject(row());
  throw unknown();
}

/**
 * Ends the assignment of a subject, or discards what is kept of an unknown one. Events of an assigned subject that are not recorded yet
 * are kept.
 *
 * @throws {AppError} `not_found`.
 */
export async function deleteEventSubject(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<void> {
  const { subject, organizationId, kept } = await getSubject(context, id);
  const entry = {
    action: "subject.deleted",
    organizationId,
    target: { id, name: subject },
    details: { kept: String(organizationId === null ? kept : 0) },
  } as const;
  for (let isDone = false; !isDone;) {
    isDone = await writeChange(context, actor, { statement: deleteSubject(id), entry }) ||
      await writeChange(context, actor, { statement: endAssignment(id), entry });
    if (isDone) return;
    const [deleted] = await context.writeAs(actor, [deleteKept(id, deletedInOneWrite)]);
    if (deleted?.changes === 0) throw notFoundError();
  }
}
