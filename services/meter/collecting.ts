// Collecting: events of many customers that a gateway reports with one credential. The work is done, so no limit rejects them, and a
// bad event stops no other.
import { hash } from "node:crypto";
import { type EventFault, findMappingsOf, noteFaults } from "../../db/meter/event_mappings.ts";
import {
  deleteOldKept,
  endLostAssignments,
  findDueEvents,
  findIdTargets,
  findSubjectTargets,
  forgetEvents,
  keepEvents,
  type SubjectTarget,
} from "../../db/meter/event_subjects.ts";
import type { Database } from "../../db/engine/database.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { environments } from "../../domain/environment.ts";
import { AppError, type ErrorCode, type ErrorDetail } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import {
  type CollectedEvent,
  type EventMapping,
  mapEvent,
  mappedMetricsMax,
} from "../../domain/meter/event_mapping.ts";
import { findUsageRecordsByKey } from "../../db/meter/usage_records.ts";
import { idempotencyKeyHash, timestampFault, type UsageInput } from "../../domain/meter/usage_record.ts";
import type { Context, SessionContext } from "../context.ts";

/** Events of unknown subjects are kept this long. */
const keptMs = 30 * 24 * 3_600_000;
/** The most records of one commit, so that others wait briefly. */
const commitRecordsMax = 1_000;
const stepEventsMax = Math.floor(commitRecordsMax / mappedMetricsMax);
/** Larger events aren't kept. */
const keptBytesMax = 65_536;

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

/** Names an event that was not recorded. */
type EventName = Pick<EventFault, "type" | "source" | "eventId" | "subject">;

/** An event that is invalid, and why. */
export interface InvalidEvent extends EventName {
  readonly faults: readonly ErrorDetail[];
}

/**
 * Records events, each whole or not at all. What is invalid or can't be mapped is noted, and what has an unknown subject is kept.
 *
 * @returns The events that were not recorded, in their order.
 * @throws {AppError} Those of an operator who may not write; `unavailable`, and some of the events may have been recorded.
 */
export async function collectEvents(
  context: SessionContext,
  actor: OperatorActor,
  given: readonly (CollectedEvent | InvalidEvent)[],
): Promise<EventRejection[]> {
  const { database, clock, writeAs } = context;
  const now = clock();
  const writer = { write: (batch: Parameters<Database["write"]>[0]) => writeAs(actor, batch) };
  const events = given.flatMap((event, index) => "faults" in event ? [] : [{ index, event }]);
  const mappingOf = await mappingsOf(database, events.map(({ event }) => event));
  const { mapped, rejections } = mapAll(mappingOf, events, now);
  const targets = await targetsOf(database, mapped.map(({ subject }) => subject));
  const rejected = await recordMapped(context, writer, { mapped, targets });
  rejections.push(...rejected.filter(({ code }) => code !== "subject_unknown"));
  const isGone = new Set(rejected.filter(({ code }) => code === "subject_unknown").map(({ index }) => index));
  const unknown = mapped.filter(({ index, subject }) => !targets.has(subject) || isGone.has(index));
  const { kept, tooLarge } = toKeep(unknown);
  rejections.push(
    ...tooLarge,
    ...given.flatMap((event, index) =>
      "faults" in event
        ? event.faults.map((fault) => ({ index, code: "validation_failed" as const, ...fault }))
        : []
    ),
  );
  const faults = rejections.map(({ index, ...fault }) => ({
    ...nameOf(given[index]),
    ...fault,
    path: shortText(fault.path),
    at: now,
  }));
  if (faults.length > 0) await writer.write(noteFaults(faults.slice(-commitRecordsMax)));
  if (kept.length > 0) await keepEvents(writer, kept.map(({ row }) => row), now);
  rejections.push(...kept.map(({ index, row }) => subjectUnknown(index, row.subject)));
  return rejections.sort((a, b) => a.index - b.index);
}

/** Records events whose subject is known. Returns those that were not recorded: `subject_unknown` if its organization was deleted meanwhile. */
async function recordMapped(
  { database, recorder }: Pick<SessionContext, "database" | "recorder">,
  writer: Pick<Database, "write">,
  { mapped, targets }: { mapped: readonly Mapped[]; targets: ReadonlyMap<string, SubjectTarget> },
): Promise<EventRejection[]> {
  const known = mapped.filter(({ subject }) => targets.has(subject));
  const { firsts, repeats, conflicts } = divided(known, targets);
  const rejections: EventRejection[] = conflicts.map((index) => {
    const message = "is that of an earlier event of the batch, with other content.";
    return { index, code: "idempotency_conflict", path: "id", message };
  });
  const late: Mapped[] = [];
  for (const group of groupsOf(firsts)) {
    const results = await recorder.recordAll(group.map((one) => requestOf(one, targets)), writer);
    for (const [at, one] of group.entries()) {
      const [rejection] = rejectionOf(one.index, results[at]);
      if (rejection?.code === "idempotency_conflict" && one.event.time === null) late.push(one);
      else if (rejection !== undefined) rejections.push(rejection);
    }
  }
  for (const group of groupsOf(late)) {
    const timed = [];
    for (const one of group) timed.push(await withKnownTime(database, one, targets));
    const results = await recorder.recordAll(timed.map((one) => requestOf(one, targets)), writer);
    rejections.push(...group.flatMap((one, at) => rejectionOf(one.index, results[at])));
  }
  const byIndex = new Map(rejections.map((rejection) => [rejection.index, rejection]));
  return [
    ...rejections,
    ...repeats.flatMap(({ index, of }) => {
      const rejection = byIndex.get(of);
      return rejection === undefined ? [] : [{ ...rejection, index }];
    }),
  ];
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
  events: readonly { readonly index: number; readonly event: CollectedEvent }[],
  now: number,
): { mapped: Mapped[]; rejections: EventRejection[] } {
  const mapped: Mapped[] = [];
  const rejections: EventRejection[] = [];
  for (const { index, event } of events) {
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

/** Finds whom subjects stand for, by subject: an organization or a key with that id, otherwise whom it is assigned to, and so on. */
async function targetsOf(
  database: SessionContext["database"],
  given: readonly string[],
): Promise<ReadonlyMap<string, SubjectTarget>> {
  const subjects = [...new Set(given)];
  const ids = subjects.filter((subject) => isId("org", subject) || isId("key", subject));
  const found = ids.length === 0 ? [] : await findIdTargets(database, ids);
  const known = new Set(found.map(({ subject }) => subject));
  const others = subjects.filter((subject) => !known.has(subject));
  if (others.length > 0) found.push(...await findSubjectTargets(database, others));
  return new Map(found.map((target) => [target.subject, target]));
}

/** Divides events into the first with each source and id, those that repeat one, and those that contradict one. */
function divided(mapped: readonly Mapped[], targets: ReadonlyMap<string, SubjectTarget>) {
  const firsts = new Map<string, { readonly one: Mapped; readonly text: string }>();
  const repeats: { index: number; of: number }[] = [];
  const conflicts: number[] = [];
  for (const one of mapped) {
    const { target = "", organizationId = "" } = targets.get(one.subject) ?? {};
    const name = `${organizationId} ${hashOf(one.event)}`;
    const text = JSON.stringify([target, one.records]);
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, { one, text });
    else if (first.text === text) repeats.push({ index: one.index, of: first.one.index });
    else conflicts.push(one.index);
  }
  return { firsts: [...firsts.values()].map(({ one }) => one), repeats, conflicts };
}

/** Divides events into groups to commit. */
function groupsOf(mapped: readonly Mapped[]): Mapped[][] {
  const groups: Mapped[][] = [];
  let records = commitRecordsMax;
  for (const one of mapped) {
    records += one.records.length;
    if (records > commitRecordsMax) {
      groups.push([]);
      records = one.records.length;
    }
    groups.at(-1)?.push(one);
  }
  return groups;
}

/** Identifies an event (CloudEvents 1.0, 3.1.1). */
const hashOf = ({ source, id }: Pick<CollectedEvent, "source" | "id">) =>
  hash("sha256", JSON.stringify([source, id]), "base64url");

/** Gives an event without a time that of its record: if it was kept, that is when it arrived first. */
async function withKnownTime(
  database: SessionContext["database"],
  one: Mapped,
  targets: ReadonlyMap<string, SubjectTarget>,
): Promise<Mapped> {
  const { organizationId = "" } = targets.get(one.subject) ?? {};
  for (const { idempotencyKey } of one.records) {
    for (const environment of environments) {
      const key = idempotencyKey ?? "";
      const [found] = await findUsageRecordsByKey(database, {
        organizationId,
        idempotencyKey: key,
        hash: idempotencyKeyHash(key),
        from: 0,
        to: Number.MAX_SAFE_INTEGER,
        filter: { environment },
      });
      if (found === undefined) continue;
      const { timestamp } = found;
      return { ...one, records: one.records.map((record) => ({ ...record, timestamp })) };
    }
  }
  return one;
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
  if (error.code === "validation_failed" && detail?.path.endsWith("]")) {
    return [{
      index,
      code: "subject_unknown",
      path: "subject",
      message: "is of an organization that was deleted.",
    }];
  }
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
/** Names an event that was not recorded. Its texts are cut. */
function nameOf(event: CollectedEvent | InvalidEvent | undefined): EventName {
  const { type = "", source = "", subject = null } = event ?? {};
  const eventId = event === undefined ? "" : "faults" in event ? event.eventId : event.id;
  return {
    type: shortText(type),
    source: shortText(source),
    eventId: shortText(eventId),
    subject: subject === null ? null : shortText(subject),
  };
}

/** Cuts a text off, and replaces what can't be stored. */
const shortText = (text: string) => text.slice(0, textMax).toWellFormed().replaceAll(/\p{Cc}/gu, "\ufffd");

/** Returns the events to keep, and those that are too large for that. */
function toKeep(unknown: readonly Mapped[]) {
  const kept = [];
  const tooLarge: EventRejection[] = [];
  for (const { index, event, subject } of unknown) {
    const text = JSON.stringify(event);
    if (text.length <= keptBytesMax) {
      kept.push({ index, row: { id: newId("sub"), subject, hash: hashOf(event), event: text } });
    } else {
      const message =
        `is unknown, and the event is too large to be kept: more than ${keptBytesMax} characters.`;
      tooLarge.push({ index, code: "validation_failed", path: "subject", message });
    }
  }
  return { kept, tooLarge };
}

/** Records some of the events that were kept and whose subject is assigned now, by the mappings of now. Returns true if there may be more. */
export async function recordKeptEvents(context: Context): Promise<boolean> {
  const { database, clock } = context;
  const due = await findDueEvents(database, stepEventsMax);
  if (due.length === 0) return false;
  if (due.some(({ organizationId }) => organizationId === null)) {
    await database.write([endLostAssignments]);
    return true;
  }
  const events = due.map(({ event }): CollectedEvent => JSON.parse(event));
  const mappingOf = await mappingsOf(database, events);
  const rejections: EventRejection[] = [];
  const mapped: Mapped[] = [];
  for (const [index, event] of events.entries()) {
    const mapping = mappingOf(event);
    const time = event.time ?? due[index]?.receivedAt ?? null;
    const result = mapping === undefined ? unmapped : mapEvent(mapping, { ...event, time });
    if ("fault" in result) rejections.push({ index, ...result.fault });
    else mapped.push({ index, event, ...result });
  }
  // A mapping that was changed may take another subject.
  const targets = await targetsOf(database, mapped.map(({ subject }) => subject));
  rejections.push(
    ...await recordMapped(context, database, { mapped, targets }),
    ...mapped.filter(({ subject }) => !targets.has(subject)).map(({ index, subject }) =>
      subjectUnknown(index, subject)
    ),
  );
  // Those whose own organization was deleted meanwhile are kept on.
  const isOwn = (index: number) =>
    mapped.some((one) => one.index === index && one.subject === due[index]?.subject);
  const staying = new Set(
    rejections.filter(({ code, index }) => code === "subject_unknown" && isOwn(index)).map(({ index }) =>
      index
    ),
  );
  const faults = rejections.filter(({ index }) => !staying.has(index)).map(({ index, ...fault }) => ({
    ...nameOf(events[index]),
    ...fault,
    at: clock(),
  }));
  await database.write([
    ...faults.length === 0 ? [] : noteFaults(faults),
    forgetEvents(due.flatMap(({ number }, index) => staying.has(index) ? [] : [number])),
  ]);
  return true;
}

const unmapped = {
  fault: { code: "event_unmapped", path: "type", message: "has no mapping." },
} as const;

/** Deletes some events that aren't kept any longer. Returns true if there may be more. */
export async function deleteSomeKept({ database, clock }: Context): Promise<boolean> {
  return await deleteOldKept(database, { before: clock() - keptMs, limit: stepEventsMax });
}
