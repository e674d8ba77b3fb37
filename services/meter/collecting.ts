// Collecting: events of many customers that a gateway reports with one credential. The work is done, so no limit rejects them, and a
// bad event stops no other.
import { hash } from "node:crypto";
import { findMappingsOf, noteFaults } from "../../db/meter/event_mappings.ts";
import {
  deleteOldKept,
  endLostAssignments,
  findDueEvents,
  findSubjectTargets,
  forgetEvents,
  keepEvents,
  type SubjectTarget,
} from "../../db/meter/event_subjects.ts";
import type { Database } from "../../db/engine/database.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { environments } from "../../domain/environment.ts";
import { AppError, type ErrorCode } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { type CollectedEvent, type EventMapping, mapEvent } from "../../domain/meter/event_mapping.ts";
import { findUsageRecordsByKey } from "../../db/meter/usage_records.ts";
import { idempotencyKeyHash, timestampFault, type UsageInput } from "../../domain/meter/usage_record.ts";
import type { Context, SessionContext } from "../context.ts";

/** Events of unknown subjects are kept this long. */
const keptMs = 30 * 24 * 3_600_000;
/** The most records of one commit, so that others wait briefly. */
const commitRecordsMax = 1_000;
const stepEventsMax = 200;

/** Says why an event of a request was not recorded. `path`: from the event. */
export interface EventRejection {
  readonly index: number;
  readonly code: ErrorCode;
  readonly path: string;
  readonly message: string;
}

/** An event that can be recorded once its subject is known. */
interface Mapped {
  readonly index: number;
  readonly event: CollectedEvent;
  readonly subject: string;
  readonly records: readonly UsageInput[];
}

/**
 * Records events, each whole or not at all. What can't be mapped is noted, and what has an unknown subject is kept.
 *
 * @returns The events that were not recorded, in their order.
 * @throws {AppError} Those of an operator who may not write; `unavailable`, and some of the events may have been recorded.
 */
export async function collectEvents(
  context: SessionContext,
  actor: OperatorActor,
  events: readonly CollectedEvent[],
): Promise<EventRejection[]> {
  const { database, clock, recorder, writeAs } = context;
  const now = clock();
  const writer = { write: (batch: Parameters<Database["write"]>[0]) => writeAs(actor, batch) };
  const { mapped, rejections } = mapAll(await mappingsOf(database, events), events, now);
  const targets = await targetsOf(database, mapped.map(({ subject }) => subject));
  const unknown = mapped.filter(({ subject }) => !targets.has(subject));
  const late: Mapped[] = [];
  for (const group of groupsOf(mapped, targets)) {
    const results = await recorder.recordAll(group.map((one) => requestOf(one, targets)), writer);
    for (const [at, one] of group.entries()) {
      const [rejection] = rejectionOf(one.index, results[at]);
      if (rejection?.code === "idempotency_conflict" && one.event.time === null) late.push(one);
      else if (rejection !== undefined) rejections.push(rejection);
    }
  }
  for (const one of late) {
    const known = await withKnownTime(database, one, targets);
    const [result] = await recorder.recordAll([requestOf(known, targets)], writer);
    rejections.push(...rejectionOf(one.index, result));
  }
  const faults = rejections.map(({ index, ...fault }) => {
    const { id: eventId, ...event } = events[index] ?? { id: "", type: "", source: "", subject: null };
    return { ...shortened({ ...event, eventId }), ...fault, at: now };
  });
  if (faults.length > 0) await writer.write(noteFaults(faults));
  if (unknown.length > 0) await keepEvents(writer, unknown.map((one) => keptOf(one, now)), now);
  rejections.push(...unknown.map(({ index, subject }) => subjectUnknown(index, subject)));
  return rejections.sort((a, b) => a.index - b.index);
}

async function mappingsOf(
  database: SessionContext["database"],
  events: readonly CollectedEvent[],
): Promise<(event: CollectedEvent) => EventMapping | undefined> {
  const types = [...new Set(events.map(({ type }) => type))];
  const found = await findMappingsOf(database, types);
  const byName = new Map(found.map((mapping) => [JSON.stringify([mapping.type, mapping.source]), mapping]));
  return ({ type, source }) =>
    byName.get(JSON.stringify([type, source])) ?? byName.get(JSON.stringify([type, null]));
}

function mapAll(
  mappingOf: (event: CollectedEvent) => EventMapping | undefined,
  events: readonly CollectedEvent[],
  now: number,
): { mapped: Mapped[]; rejections: EventRejection[] } {
  const mapped: Mapped[] = [];
  const rejections: EventRejection[] = [];
  for (const [index, event] of events.entries()) {
    const mapping = mappingOf(event);
    const late = timestampFault(event.time, now);
    if (mapping === undefined) {
      const message = "has no mapping. Add one for it, or send it with an API key.";
      rejections.push({ index, code: "event_unmapped", path: "type", message });
    } else if (late !== null) {
      rejections.push({ index, code: "validation_failed", path: "time", message: late });
    } else {
      const result = mapEvent(mapping, event);
      if ("fault" in result) rejections.push({ index, ...result.fault });
      else mapped.push({ index, event, ...result });
    }
  }
  return { mapped, rejections };
}

/** Finds whom subjects stand for, by subject. */
async function targetsOf(
  database: SessionContext["database"],
  subjects: readonly string[],
): Promise<ReadonlyMap<string, SubjectTarget>> {
  const { true: ids = [], false: others = [] } = Object.groupBy(
    [...new Set(subjects)],
    (subject) => `${isId("org", subject) || isId("key", subject)}`,
  );
  const found = subjects.length === 0 ? [] : await findSubjectTargets(database, { ids, others });
  return new Map(found.map((target) => [target.subject, target]));
}

/** Divides events with a known subject into groups to commit, none of which has an event twice. */
function groupsOf(mapped: readonly Mapped[], targets: ReadonlyMap<string, SubjectTarget>): Mapped[][] {
  const groups: { events: Mapped[]; names: Set<string>; records: number }[] = [];
  for (const one of mapped) {
    const target = targets.get(one.subject);
    if (target === undefined) continue;
    const name = `${target.organizationId} ${nameOf(one.event)}`;
    let group = groups.find(({ names, records }) =>
      !names.has(name) && records + one.records.length <= commitRecordsMax
    );
    if (group === undefined) groups.push(group = { events: [], names: new Set(), records: 0 });
    group.events.push(one);
    group.names.add(name);
    group.records += one.records.length;
  }
  return groups.map(({ events }) => events);
}

/** Identifies an event (CloudEvents 1.0, 3.1.1). */
const nameOf = ({ source, id }: Pick<CollectedEvent, "source" | "id">) =>
  hash("sha256", JSON.stringify([source, id]), "base64url");

/** Gives an event without a time that of its record: if it was kept, that is when it arrived first. */
async function withKnownTime(
  database: SessionContext["database"],
  one: Mapped,
  targets: ReadonlyMap<string, SubjectTarget>,
): Promise<Mapped> {
  const { organizationId = "" } = targets.get(one.subject) ?? {};
  const found = await Promise.all(
    one.records.flatMap(({ idempotencyKey }) =>
      environments.map((environment) =>
        findUsageRecordsByKey(database, {
          organizationId,
          idempotencyKey: idempotencyKey ?? "",
          hash: idempotencyKeyHash(idempotencyKey ?? ""),
          from: 0,
          to: Number.MAX_SAFE_INTEGER,
          filter: { environment },
        })
      )
    ),
  );
  const timestamp = found.flat()[0]?.timestamp ?? null;
  return { ...one, records: one.records.map((record) => ({ ...record, timestamp })) };
}

function requestOf({ subject, records }: Mapped, targets: ReadonlyMap<string, SubjectTarget>) {
  const target = targets.get(subject)?.target ?? "";
  return { target: records.map(() => target), inputs: records };
}

/** Returns why an event was rejected, if it was. @throws What has nothing to do with the event. */
function rejectionOf(index: number, error: unknown): EventRejection[] {
  if (error === null) return [];
  const isOwn = error instanceof AppError && ownErrors.has(error.code);
  if (!isOwn) throw error;
  const [detail] = error.details ?? [];
  // Of which record is unknown to the sender.
  const field = detail?.path.replace(/^.*\./, "");
  if (error.code === "idempotency_conflict") {
    const message = "was recorded before, with another quantity or another property.";
    return [{ index, code: error.code, path: "id", message }];
  }
  const message = field === undefined ? error.message : `The mapping's ${field} ${detail?.message ?? ""}`;
  return [{ index, code: error.code, path: "type", message }];
}

const ownErrors: ReadonlySet<ErrorCode> = new Set([
  "idempotency_conflict",
  "series_limit_reached",
  "validation_failed",
]);

function subjectUnknown(index: number, subject: string): EventRejection {
  const message = `“${
    subject.slice(0, 100)
  }” is no organization, no API key and not assigned. The event is kept until it is assigned.`;
  return { index, code: "subject_unknown", path: "subject", message };
}

const textMax = 255;
const shortened = (
  { type, source, eventId, subject }: {
    type: string;
    source: string;
    eventId: string;
    subject: string | null;
  },
) => ({
  type: type.slice(0, textMax),
  source: source.slice(0, textMax),
  eventId: eventId.slice(0, textMax),
  subject: subject?.slice(0, textMax) ?? null,
});

function keptOf({ event, subject }: Mapped, now: number) {
  const arrived = { ...event, time: event.time ?? now };
  return { id: newId("sub"), subject, hash: nameOf(event), event: JSON.stringify(arrived) };
}

/** Records some of the events that were kept and whose subject is assigned now, by the mappings of now. Returns true if there may be more. */
export async function recordKeptEvents({ database, recorder, clock }: Context): Promise<boolean> {
  const due = await findDueEvents(database, stepEventsMax);
  if (due.length === 0) return false;
  if (due.some(({ organizationId }) => organizationId === null)) {
    await database.write([endLostAssignments]);
    return true;
  }
  const now = clock();
  const events = due.map(({ event }): CollectedEvent => JSON.parse(event));
  const mappingOf = await mappingsOf(database, events);
  const faults = [];
  const requests = [];
  for (const [at, event] of events.entries()) {
    const mapping = mappingOf(event);
    const mapped = mapping === undefined ? undefined : mapEvent(mapping, event);
    const target = due[at]?.target ?? "";
    if (mapped !== undefined && "records" in mapped) {
      requests.push({ at, target: mapped.records.map(() => target), inputs: mapped.records });
    } else {
      const fault = mapped?.fault ?? { code: "event_unmapped", path: "type", message: "has no mapping." };
      faults.push({ ...shortened({ ...event, eventId: event.id }), ...fault, at: now });
    }
  }
  const results = await recorder.recordAll(requests, database);
  for (const [index, { at }] of requests.entries()) {
    const event = events[at];
    const [rejection] = rejectionOf(at, results[index]);
    if (event !== undefined && rejection !== undefined) {
      const { index: _, ...fault } = rejection;
      faults.push({ ...shortened({ ...event, eventId: event.id }), ...fault, at: now });
    }
  }
  await database.write([
    ...faults.length === 0 ? [] : noteFaults(faults),
    forgetEvents(due.map(({ number }) => number)),
  ]);
  return true;
}

/** Deletes some events that aren't kept any longer. Returns true if there may be more. */
export async function deleteSomeKept({ database, clock }: Context): Promise<boolean> {
  return await deleteOldKept(database, { before: clock() - keptMs, limit: stepEventsMax }) === stepEventsMax;
}
