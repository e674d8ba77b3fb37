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
  type EventSubject,
  findSubject,
  findSubjects,
} from "../../db/meter/event_subjects.ts";
import { findRecordTargets, type RecordTarget } from "../../db/meter/record_targets.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { type CollectedEvent, type EventMapping, mapEvent } from "../../domain/meter/event_mapping.ts";
import { joinQuantity } from "../../domain/meter/quantity.ts";
import { isoTime } from "../../domain/time.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readPage, requireIdCursor } from "../pages.ts";

const mappingsMax = 200;

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

/** @throws {AppError} `mapping_taken`, `limit_reached`. */
export async function createMapping(
  context: SessionContext,
  actor: OperatorActor,
  given: Omit<EventMapping, "id">,
): Promise<ShownMapping> {
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

/** @throws {AppError} `not_found`, `mapping_taken`. */
export async function changeMapping(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
  changes: Partial<Omit<EventMapping, "id">>,
): Promise<ShownMapping> {
  const before = await getMapping(context, id);
  const mapping = { ...before, ...changes };
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

/** Returns the newest events that were not recorded, for other reasons than their subject. */
export async function listEventFaults({ database }: SessionContext, limit: number): Promise<EventFault[]> {
  return await findFaults(database, limit);
}

const toSubject = ({ firstAt, lastAt, assignedAt, ...subject }: EventSubject) => ({
  ...subject,
  firstAt: isoTime(firstAt),
  lastAt: isoTime(lastAt),
  assignedAt: isoTime(assignedAt),
});
export type ShownSubject = ReturnType<typeof toSubject>;

/** Lists subjects, the newest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listSubjects(
  { database }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ subjects: ShownSubject[]; nextCursor: string | null }> {
  requireIdCursor(cursor, "sub");
  const { rows, nextCursor } = await readPage(
    (limit) => findSubjects(database, { limit, before: cursor }),
    { limit, cursorOf: ({ id }) => id },
  );
  return { subjects: rows.map(toSubject), nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getSubject({ database }: SessionContext, id: string): Promise<ShownSubject> {
  const found = await findSubject(database, { id });
  if (found === undefined) throw notFoundError();
  return toSubject(found);
}

/** Says whose usage a subject is. What was kept of it is recorded in the background. @throws {AppError} `validation_failed` for an unknown target. */
export async function assignEventSubject(
  context: SessionContext,
  actor: OperatorActor,
  { subject, target }: { subject: string; target: RecordTarget },
): Promise<ShownSubject> {
  const { database } = context;
  const now = context.clock();
  const [found] = await findRecordTargets(database, [target]);
  const isAssigned = found !== undefined && await writeChange(context, actor, {
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
  });
  const after = isAssigned ? await findSubject(database, { subject }) : undefined;
  if (after !== undefined) return toSubject(after);
  throw validationError([{ path: target.kind, message: "must name an existing organization or API key." }]);
}

/** Ends the assignment of a subject, and discards what is kept of it. @throws {AppError} `not_found`. */
export async function deleteEventSubject(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<void> {
  const { subject, organizationId, kept } = await getSubject(context, id);
  await context.writeAs(actor, [deleteKept(id)]);
  const isDeleted = await writeChange(context, actor, {
    statement: deleteSubject(id),
    entry: {
      action: "subject.deleted",
      organizationId,
      target: { id, name: subject },
      details: { kept: String(kept) },
    },
  });
  if (!isDeleted) throw notFoundError();
}
