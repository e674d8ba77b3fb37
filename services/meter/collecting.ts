// Collecting: events of many customers that a gateway reports with one credential. The work is done, so no limit rejects them, and a
// bad event stops no other.
import { hash } from "node:crypto";
import { findMappingsOf, noteFaults } from "../../db/meter/event_mappings.ts";
import {
  deleteOldKept,
  endLostAssignments,
  findDueEvents,
  findIdTargets,
  findSubjectTargets,
  forgetEvents,
  keepEvents,
  type KeptEvent,
  type SubjectTarget,
} from "../../db/meter/event_subjects.ts";
import type { Database, Statement } from "../../db/engine/database.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, type ErrorCode, type ErrorDetail } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { groupDigits } from "../../domain/number_text.ts";
import {
  type CollectedEvent,
  type EventMapping,
  mapEvent,
  mappedMetricsMax,
} from "../../domain/meter/event_mapping.ts";
import { findTimesByKey } from "../../db/meter/usage_records.ts";
import { timestampFault, type UsageInput } from "../../domain/meter/usage_record.ts";
import type { Context, SessionContext } from "../context.ts";
import { collectedRowsMax } from "./recorder.ts";

/** Events of unknown subjects are kept this long. */
const keptMs = 30 * 24 * 3_600_000;
const stepEventsMax = Math.floor(collectedRowsMax / mappedMetricsMax);
/** Larger events aren't kept. */
const keptCharactersMax = 65_536;

/** Says why an event of a request was not recorded. `path`: from the event. */
export interface EventRejection extends ErrorDetail {
  readonly index: number;
  readonly code: ErrorCode;
}

/** An event that can be recorded once its subject is known. */
interface Mapped {
  readonly index: number;
  readonly event: CollectedEvent;
  readonly subject: string;
  readonly records: readonly UsageInput[];
}

/** An event that is invalid, and why. */
export interface InvalidEvent extends Pick<CollectedEvent, "type" | "source" | "id" | "subject"> {
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
  const { clock, writeAs } = context;
  const now = clock();
  const writer = { write: (batch: Parameters<Database["write"]>[0]) => writeAs(actor, batch) };
  const events = given.flatMap((event, index) => "faults" in event ? [] : [{ index, event }]);
  const { mapped, rejections } = await mapAll(context, events);
  const rejected = await recordMapped(context, writer, mapped);
  const isUnknown = new Set(
    rejected.filter(({ code }) => code === "subject_unknown").map(({ index }) => index),
  );
  const unknown = mapped.filter(({ index }) => isUnknown.has(index)).map((one) => ({
    one,
    row: keptRow(one),
  }));
  const isTooLarge = ({ row }: typeof unknown[number]) => row.event === null;
  rejections.push(
    ...rejected.filter(({ index }) => !isUnknown.has(index)),
    ...unknown.filter(isTooLarge).map(({ one }) => subjectUnknown(one, fates.tooLarge)),
    ...given.flatMap((event, index) =>
      "faults" in event
        ? event.faults.map((fault) => ({ index, code: "validation_failed" as const, ...fault }))
        : []
    ),
  );
  const statements = [
    ...faultsOf(rejections, given, now),
    ...unknown.length === 0 ? [] : keepEvents(unknown.map(({ row }) => row), now),
  ];
  const rows = Math.min(rejections.length + unknown.length, collectedRowsMax);
  const results = rows === 0 ? [] : await context.recorder.room.run(rows, () => writer.write(statements));
  const kept = new Set(results.at(-1)?.rows.map(({ hash }) => hash));
  const fitting = unknown.filter((one) => !isTooLarge(one));
  rejections.push(
    ...fitting.map(({ one, row }) => subjectUnknown(one, kept.has(row.hash) ? fates.kept : fates.lost)),
  );
  return rejections.sort((a, b) => a.index - b.index);
}

/** Records events. Returns those that were not recorded: `subject_unknown` also if their organization was deleted meanwhile. */
async function recordMapped(
  { database, recorder }: Pick<SessionContext, "database" | "recorder">,
  writer: Pick<Database, "write">,
  mapped: readonly Mapped[],
): Promise<EventRejection[]> {
  // A mapping that was changed may take another subject than that of a kept event.
  const targets = await targetsOf(database, mapped.map(({ subject }) => subject));
  const known = mapped.filter(({ subject }) => targets.has(subject));
  const { firsts, repeats, conflicts } = divided(known, targets);
  const message = "is that of an earlier event of the batch, with other content.";
  const rejections: EventRejection[] = [
    ...mapped.filter(({ subject }) => !targets.has(subject)).map((one) => subjectUnknown(one, fates.dropped)),
    ...conflicts.map((index) => ({ index, code: "idempotency_conflict" as const, path: "id", message })),
  ];
  const late: Mapped[] = [];
  for (const group of groupsOf(firsts)) {
    const results = await recorder.recordAll(group.map((one) => requestOf(one, targets)), writer);
    for (const [at, one] of group.entries()) {
      const [rejection] = rejectionOf(one, results[at]);
      if (rejection?.code === "idempotency_conflict" && one.event.time === null) late.push(one);
      else if (rejection !== undefined) rejections.push(rejection);
    }
  }
  for (const group of groupsOf(late)) {
    const timed = await withKnownTimes(database, group, targets);
    const results = await recorder.recordAll(timed.map((one) => requestOf(one, targets)), writer);
    rejections.push(...group.flatMap((one, at) => rejectionOf(one, results[at])));
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

/** Maps events by the mappings of now. @param events `receivedAt`: of one that was kept, which may be older than others. */
async function mapAll(
  { database, clock }: Pick<SessionContext, "database" | "clock">,
  events: readonly { readonly index: number; readonly event: CollectedEvent; readonly receivedAt?: number }[],
): Promise<{ mapped: Mapped[]; rejections: EventRejection[] }> {
  const now = clock();
  const mappingOf = await mappingsOf(database, events.map(({ event }) => event));
  const mapped: Mapped[] = [];
  const rejections: EventRejection[] = [];
  for (const { index, event, receivedAt } of events) {
    const mapping = mappingOf(event);
    const late = receivedAt === undefined ? timestampFault(event.time, now) : null;
    if (mapping === undefined) {
      const message = "has no mapping. Add one for it, or send it with an API key.";
      rejections.push({ index, code: "event_unmapped", path: "type", message });
    } else if (late !== null) {
      rejections.push({ index, code: "validation_failed", path: "time", message: late });
    } else {
      const result = mapEvent(mapping, { ...event, time: event.time ?? receivedAt ?? null });
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
  let records = collectedRowsMax;
  for (const one of mapped) {
    records += one.records.length;
    if (records > collectedRowsMax) {
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

/** Gives events without a time that of their records: if they were kept, that is when they arrived first. */
async function withKnownTimes(
  database: SessionContext["database"],
  group: readonly Mapped[],
  targets: ReadonlyMap<string, SubjectTarget>,
): Promise<Mapped[]> {
  const keys = group.flatMap(({ subject, records }, position) => {
    const { organizationId = "" } = targets.get(subject) ?? {};
    return records.map(({ idempotencyKey }) => (
      { position, organizationId, idempotencyKey: idempotencyKey ?? "" }
    ));
  });
  const times = await findTimesByKey(database, keys);
  return group.map((one, position) => {
    const timestamp = times.get(position);
    if (timestamp === undefined) return one;
    return { ...one, records: one.records.map((record) => ({ ...record, timestamp })) };
  });
}

function requestOf({ subject, records }: Mapped, targets: ReadonlyMap<string, SubjectTarget>) {
  const target = targets.get(subject)?.target ?? "";
  return { target: records.map(() => target), inputs: records };
}

/** Returns why an event was rejected, if it was. @throws What has nothing to do with the event. */
function rejectionOf(one: Mapped, error: unknown): EventRejection[] {
  if (error === null) return [];
  const { index } = one;
  if (!(error instanceof AppError) || !ownErrors.has(error.code)) throw error;
  const [detail] = error.details ?? [];
  if (error.code === "validation_failed" && detail?.path.endsWith("]")) {
    return [subjectUnknown(one, fates.dropped)];
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

const fates = {
  kept: "The event is kept until it is assigned, for 30 days.",
  lost: "The event is lost, because too many are kept. Assign its subject, then send it again.",
  tooLarge: `The event is lost: it has more than ${
    groupDigits(keptCharactersMax)
  } characters, too large to be kept. Assign its subject, then send it again.`,
  dropped: "The event is no longer kept.",
};

function subjectUnknown({ index, subject }: Pick<Mapped, "index" | "subject">, fate: string): EventRejection {
  const message = `“${subject.slice(0, 100)}” is no organization, no API key and not assigned. ${fate}`;
  return { index, code: "subject_unknown", path: "subject", message };
}

/** Returns statements that note why events were not recorded. Texts are cut. */
function faultsOf(
  rejections: readonly EventRejection[],
  events: readonly (CollectedEvent | InvalidEvent)[],
  at: number,
): Statement[] {
  const faults = rejections.slice(-collectedRowsMax).map(({ index, path, ...fault }) => {
    const { type = "", source = "", id = "", subject = null } = events[index] ?? {};
    const [shortType = "", shortSource = "", eventId = "", shortPath = ""] = [type, source, id, path].map(
      shortText,
    );
    const name = { type: shortType, source: shortSource, eventId, subject: subject && shortText(subject) };
    return { ...name, ...fault, path: shortPath, at };
  });
  return faults.length === 0 ? [] : noteFaults(faults);
}

const textMax = 255;
/** Cuts a text off, and replaces what can't be stored. */
const shortText = (text: string) => text.slice(0, textMax).toWellFormed().replaceAll(/\p{Cc}/gu, "\ufffd");

function keptRow({ event, subject }: Mapped): KeptEvent {
  const text = JSON.stringify(event);
  const kept = text.length <= keptCharactersMax ? text : null;
  return { id: newId("sub"), subject, hash: hashOf(event), event: kept };
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
  const events = due.map(({ event, receivedAt }, index) => (
    { index, event: JSON.parse(event) as CollectedEvent, receivedAt }
  ));
  const { mapped, rejections } = await mapAll(context, events);
  rejections.push(...await recordMapped(context, database, mapped));
  const subjects = new Map(mapped.map(({ index, subject }) => [index, subject]));
  // Those whose own organization was deleted meanwhile are kept on.
  const isStaying = ({ code, index }: EventRejection) =>
    code === "subject_unknown" && subjects.get(index) === due[index]?.subject;
  const staying = new Set(rejections.filter(isStaying).map(({ index }) => index));
  await database.write([
    ...faultsOf(rejections.filter((one) => !isStaying(one)), events.map(({ event }) => event), clock()),
    forgetEvents(due.flatMap(({ number }, index) => staying.has(index) ? [] : [number])),
  ]);
  return true;
}

/** Deletes some events that aren't kept any longer. Returns true if there may be more. */
export async function deleteSomeKept({ database, clock }: Context): Promise<boolean> {
  return await deleteOldKept(database, { before: clock() - keptMs, limit: stepEventsMax });
}
