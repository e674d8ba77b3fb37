// The SQL of subjects of events: to whom operators assigned them, and the events of those that are unknown.
import { type Database, type DatabaseReader, integer, sql, type Statement } from "../engine/database.ts";

const keptOfSubjectMax = 10_000;
const keptMax = 100_000;

export interface EventSubject {
  readonly id: string;
  readonly subject: string;
  /** Whose usage it is; null for an unknown subject. */
  readonly organizationId: string | null;
  readonly apiKeyId: string | null;
  readonly assignedAt: number | null;
  /** When the first and the last of its events arrived that were not recorded; null without any. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  readonly kept: number;
  readonly lost: number;
}

const selectSubjects =
  sql`SELECT s.id, s.subject, o.id AS organizationId, k.id AS apiKeyId, s.assigned_at AS assignedAt,
    s.first_at AS firstAt, s.last_at AS lastAt, s.kept, s.lost FROM event_subjects s
    LEFT JOIN organizations o ON o.number = s.organization AND o.deleted_at IS NULL
    LEFT JOIN api_keys k ON k.number = s.api_key`;

/** Returns subjects, the newest first, from after the id `before`. */
export function findSubjects(
  database: DatabaseReader,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<EventSubject[]> {
  const after = before === undefined
    ? sql`true`
    : sql`s.number < (SELECT b.number FROM event_subjects b WHERE b.id = ${before})`;
  return database.read(sql`${selectSubjects} WHERE ${after} ORDER BY s.number DESC LIMIT ${limit}`);
}

/** Reads the subject with an id, or with that text. */
export const selectSubject = (by: { readonly id: string } | { readonly subject: string }): Statement =>
  sql`${selectSubjects} WHERE ${"id" in by ? sql`s.id = ${by.id}` : sql`s.subject = ${by.subject}`}`;

/** Returns how many events of subjects without a row were not kept, because there were too many. */
export async function findLostCount(database: DatabaseReader): Promise<number> {
  const row = await database.readFirst<{ lost: number }>(sql`SELECT lost FROM kept_event_count`);
  return row?.lost ?? 0;
}

/** An organization or a key of it that a subject stands for. */
export interface SubjectTarget {
  readonly subject: string;
  readonly target: string;
  readonly organizationId: string;
}

/** Finds the organizations and keys that have these ids. */
export function findIdTargets(database: DatabaseReader, ids: readonly string[]): Promise<SubjectTarget[]> {
  return database.read(sql`
    SELECT e.value AS subject, coalesce(k.id, o.id) AS target, o.id AS organizationId
    FROM json_each(${JSON.stringify(ids)}) e LEFT JOIN api_keys k ON k.id = e.value
    JOIN organizations o ON o.id = coalesce(k.organization_id, e.value) AND o.deleted_at IS NULL`);
}

/** Finds to whom subjects are assigned, otherwise organizations with that external id. Unknown ones are left out. */
export function findSubjectTargets(
  database: DatabaseReader,
  subjects: readonly string[],
): Promise<SubjectTarget[]> {
  const list = sql`json_each(${JSON.stringify(subjects)}) e`;
  return database.read(sql`
    SELECT e.value AS subject, coalesce(k.id, o.id) AS target, o.id AS organizationId
    FROM ${list} CROSS JOIN event_subjects s ON s.subject = e.value
    CROSS JOIN organizations o ON o.number = s.organization AND o.deleted_at IS NULL
    LEFT JOIN api_keys k ON k.number = s.api_key
    UNION ALL
    SELECT e.value, o.id, o.id FROM ${list} CROSS JOIN organizations o ON o.external_id = e.value
      AND o.deleted_at IS NULL
    WHERE NOT EXISTS (SELECT 1 FROM event_subjects s WHERE s.subject = e.value AND s.organization IS NOT NULL)`);
}

/** An event to keep. `id`: of its subject, if that is new. `hash`: of its source and id. `event`: null if it is too large to be kept. */
export interface KeptEvent {
  readonly id: string;
  readonly subject: string;
  readonly hash: string;
  readonly event: string | null;
}

/** Keeps events of unknown subjects, each once, and counts those for which there is no room. The last statement returns the `hash` of each that is kept. */
export function keepEvents(events: readonly KeptEvent[], now: number): Statement[] {
  const rows = events.map(({ id, subject, hash, event }) => [id, subject, hash, event === null] as const);
  const list = JSON.stringify(rows);
  const whole = JSON.stringify(rows.map((row, at) => [...row, events[at]?.event]));
  const part = (index: number) => sql`(e.value ->> ${integer(index)})`;
  const room = sql`(SELECT ${integer(keptMax)} - kept FROM kept_event_count)`;
  const isKept = sql`EXISTS (SELECT 1 FROM kept_events k WHERE k.hash = ${part(2)})`;
  const fits = sql`NOT ${isKept} AND NOT ${part(3)}`;
  const isOfSubject = sql`EXISTS (SELECT 1 FROM event_subjects s WHERE s.subject = ${part(1)})`;
  return [
    // No more new subjects than there is room for events.
    sql`INSERT INTO event_subjects (id, subject) SELECT * FROM (SELECT ${part(0)}, ${
      part(1)
    } FROM json_each(${list}) e
      WHERE ${fits} AND NOT ${isOfSubject} ORDER BY e.key LIMIT max(0, ${room})) WHERE true ON CONFLICT DO NOTHING`,
    sql`INSERT INTO kept_events (subject, hash, event, received_at)
      SELECT subject, hash, event, ${now} FROM (
        SELECT s.number AS subject, ${part(2)} AS hash, ${part(4)} AS event, e.key,
          s.kept + row_number() OVER (PARTITION BY s.number ORDER BY e.key) AS rank
        FROM json_each(${whole}) e CROSS JOIN event_subjects s ON s.subject = ${part(1)} WHERE ${fits})
      WHERE rank <= ${integer(keptOfSubjectMax)} ORDER BY key LIMIT max(0, ${room}) ON CONFLICT DO NOTHING`,
    sql`UPDATE event_subjects AS s SET first_at = coalesce(first_at, ${now}), last_at = ${now}, lost = s.lost + a.lost
      FROM (SELECT ${part(1)} AS subject, sum(NOT ${isKept}) AS lost FROM json_each(${list}) e GROUP BY 1) a
      WHERE s.subject = a.subject`,
    sql`UPDATE kept_event_count SET lost = lost +
      (SELECT count(*) FROM json_each(${list}) e WHERE NOT ${isKept} AND NOT ${isOfSubject})`,
    sql`SELECT k.hash FROM json_each(${list}) e CROSS JOIN kept_events k ON k.hash = ${part(2)}`,
  ];
}

/** Assigns a subject to an organization, or to a key of it. */
export function assignSubject(
  { id, subject, target, now }: { id: string; subject: string; target: string; now: number },
): Statement {
  return sql`INSERT INTO event_subjects (id, subject, organization, api_key, assigned_at)
    SELECT ${id}, ${subject}, o.number, k.number, ${now}
    FROM organizations o LEFT JOIN api_keys k ON k.id = ${target}
    WHERE o.id = coalesce(k.organization_id, ${target}) AND o.deleted_at IS NULL
    ON CONFLICT (subject) DO UPDATE SET organization = excluded.organization, api_key = excluded.api_key,
      assigned_at = excluded.assigned_at`;
}

/** Deletes a subject of which nothing is kept. */
export const deleteSubject = (id: string): Statement =>
  sql`DELETE FROM event_subjects WHERE id = ${id} AND kept = 0`;

/** Makes an assigned subject of which events are kept an unknown one. */
export const endAssignment = (id: string): Statement =>
  sql`UPDATE event_subjects SET organization = NULL, api_key = NULL, assigned_at = NULL
    WHERE id = ${id} AND kept > 0 AND organization IS NOT NULL`;

/** Deletes some events of an unknown subject. */
export const deleteKept = (id: string, limit: number): Statement =>
  sql`DELETE FROM kept_events WHERE number IN (SELECT k.number FROM event_subjects s CROSS JOIN kept_events k
    ON k.subject = s.number WHERE s.id = ${id} AND s.organization IS NULL LIMIT ${limit})`;

/** Ends the assignments of subjects to an organization, given by its number. Those of which events are kept are unknown again. */
export const endAssignments = (organization: Statement): Statement[] => [
  sql`DELETE FROM event_subjects WHERE organization = ${organization} AND kept = 0`,
  sql`UPDATE event_subjects SET organization = NULL, api_key = NULL, assigned_at = NULL
    WHERE organization = ${organization}`,
];

/** A condition: events are kept of a subject that is assigned now. */
export const hasDueEvents =
  sql`EXISTS (SELECT 1 FROM event_subjects WHERE organization IS NOT NULL AND kept > 0)`;

/** Returns some events of subjects that are assigned now, the oldest first. */
export function findDueEvents(
  database: DatabaseReader,
  limit: number,
): Promise<
  { number: number; event: string; receivedAt: number; subject: string; organizationId: string | null }[]
> {
  return database.read(
    sql`SELECT k.number, k.event, k.received_at AS receivedAt, s.subject, o.id AS organizationId
    FROM (SELECT * FROM event_subjects WHERE organization IS NOT NULL AND kept > 0 ORDER BY number LIMIT 1) s
    CROSS JOIN kept_events k ON k.subject = s.number
    LEFT JOIN organizations o ON o.number = s.organization AND o.deleted_at IS NULL ORDER BY k.number LIMIT ${limit}`,
  );
}

/** Ends the assignments of subjects with kept events to organizations that were deleted. */
export const endLostAssignments =
  sql`UPDATE event_subjects AS s SET organization = NULL, api_key = NULL, assigned_at = NULL
    WHERE s.organization IS NOT NULL AND s.kept > 0
      AND NOT EXISTS (SELECT 1 FROM organizations o WHERE o.number = s.organization AND o.deleted_at IS NULL)`;

export const forgetEvents = (numbers: readonly number[]): Statement =>
  sql`DELETE FROM kept_events WHERE number IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`;

/** Deletes events of unknown subjects that arrived before a time, and subjects of which nothing is left. Returns true if there may be more. */
export async function deleteOldKept(
  database: Pick<Database, "write">,
  { before, limit }: { before: number; limit: number },
): Promise<boolean> {
  const results = await database.write([
    // What is kept of a subject that was assigned is recorded, however old it is.
    sql`DELETE FROM kept_events WHERE number IN (SELECT k.number FROM kept_events k
      WHERE k.received_at < ${before} AND NOT EXISTS (SELECT 1 FROM event_subjects s
        WHERE s.number = k.subject AND s.organization IS NOT NULL) ORDER BY k.received_at LIMIT ${limit})`,
    sql`DELETE FROM event_subjects WHERE number IN (SELECT number FROM event_subjects
      WHERE last_at < ${before} AND organization IS NULL AND kept = 0 ORDER BY last_at LIMIT ${limit})`,
  ]);
  return results.some(({ changes }) => changes === limit);
}
