// All SQL of events. Each is written in the transaction of what happened, by the function that writes that.
import { newId } from "../../domain/id.ts";
import type { EventFacts, StoredEvent } from "../../domain/outbox/event.ts";
import type { EventType } from "../../domain/outbox/event_types.ts";
import { actorOfEntry, type Audited } from "../access/mod.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";

export interface EventRow extends StoredEvent {
  readonly seq: number;
}

interface NewEvent {
  /** Default: a new id. */
  readonly id?: string;
  readonly type: EventType;
  /** The number of the organization, which the facts then get; null for none. */
  readonly organization: Statement | null;
  readonly at: number;
  /** A statement is an expression that returns JSON. */
  readonly facts: Statement | EventFacts;
  /** The number of the only endpoint that gets it, as a test. */
  readonly webhook?: Statement;
}

export function insertEvent(event: NewEvent, condition: Statement = sql`true`): Statement {
  const { id = newId("evt"), type, organization, at, facts, webhook } = event;
  return sql`
    INSERT INTO events (id, type, organization, at, facts, webhook)
    SELECT ${id}, ${type}, o.number, ${at}, iif(o.number IS NULL, f.facts, ${withOrganization(sql`f.facts`)}),
      ${webhook ?? null}
    FROM (SELECT ${"sql" in facts ? facts : JSON.stringify(facts)} AS facts) f
    LEFT JOIN organizations o ON o.number = ${organization} WHERE ${condition}`;
}

/**
 * Writes an event for each of `rows`: a query with the columns `organization`, its number, and `facts`, JSON.
 *
 * @param type Also an expression of the row `r`.
 * @param options `id`: of a single event. Default: new ones.
 */
export function insertEvents(
  type: EventType | Statement,
  { at, rows, id }: { at: number; rows: Statement; id?: string },
): Statement {
  // The time of the id, with random digits for each event.
  const idStart = newId("evt").slice(0, -16);
  return sql`
    INSERT INTO events (id, type, organization, at, facts)
    SELECT ${id ?? sql`${idStart} || lower(hex(randomblob(8)))`}, ${type}, o.number, ${at},
      ${withOrganization(sql`r.facts`)}
    FROM (${rows}) r CROSS JOIN organizations o ON o.number = r.organization`;
}

/**
 * Writes the event of an audited change of an organization, if it was made. Both have the same id after its prefix.
 *
 * @param facts More of them than the audit entry has.
 */
export function insertChangeEvent(
  type: EventType,
  { now, audited }: Audited,
  facts: EventFacts = {},
): Statement {
  // Entries name some members by email address.
  const name = type.startsWith("member.")
    ? sql`(SELECT u.name FROM users u WHERE u.id = a.target_id)`
    : sql`a.target_name`;
  return insertEvents(type, {
    at: now,
    id: audited.replace(/^[a-z]+/, "evt"),
    rows: sql`SELECT o.number AS organization, json_patch(json_object(
        'target', json_object('id', a.target_id, 'name', ${name}), 'actor', ${actorOfEntry}, 'details', json(a.details),
        'expiresAt', (SELECT k.expires_at FROM api_keys k WHERE k.id = a.target_id)), ${
      JSON.stringify(facts)
    }) AS facts
      FROM audit_events a CROSS JOIN organizations o ON o.id = a.organization_id WHERE a.id = ${audited}`,
  });
}

const withOrganization = (facts: Statement): Statement =>
  sql`json_set(${facts}, '$.organization', json_object('id', o.id, 'externalId', o.external_id, 'name', o.name))`;

interface EventQuery {
  /** Null for those of all organizations, and those of none. */
  readonly organizationId: string | null;
  readonly types: readonly EventType[];
  readonly from: number;
  /** Selects events before this position in the list, which is ordered by time and then by number, both descending. */
  readonly before: Pick<EventRow, "at" | "seq">;
  readonly limit: number;
}

const columns = sql`e.seq, e.id, e.type, e.at, e.facts, e.webhook`;

/** Returns events without tests, newest first. */
export function findEvents(
  database: DatabaseReader,
  { organizationId, types, from, before, limit }: EventQuery,
): Promise<EventRow[]> {
  const newest = sql`ORDER BY e.at DESC, e.seq DESC LIMIT ${limit}`;
  // Three of a million events may match. So the newest of each type are read from an index in the order of the list, and merged.
  return database.read(sql`
    SELECT ${columns} FROM json_each(${JSON.stringify(types)}) t CROSS JOIN events e ON e.seq IN (
      SELECT e.seq FROM events e WHERE ${isOf(organizationId)} AND e.webhook IS NULL AND e.type = t.value
        AND (e.at, e.seq) < (${before.at}, ${before.seq}) AND e.at >= ${from} ${newest})
    ${newest}`);
}

/** Finds an event among those that {@linkcode findEvents} lists. */
export function findEvent(
  database: DatabaseReader,
  { organizationId, id }: Pick<EventQuery, "organizationId"> & { id: string },
): Promise<EventRow | undefined> {
  return database.readFirst(
    sql`SELECT ${columns} FROM events e WHERE e.id = ${id} AND ${isOf(organizationId)}`,
  );
}

/** Returns the oldest events of all types that {@linkcode markMailed} doesn't know. */
export function findUnmailedEvents(database: DatabaseReader, limit: number): Promise<EventRow[]> {
  return database.read(sql`SELECT ${columns} FROM events e
    WHERE e.seq > (SELECT mailed_seq FROM event_cursor) ORDER BY e.seq LIMIT ${limit}`);
}

/** A condition: no server has written the emails about an event. */
export const isUnmailed = ({ seq }: EventRow): Statement =>
  sql`(SELECT mailed_seq FROM event_cursor) < ${seq}`;

/** Notes that the emails about an event, and about all before it, are written. After them, in the same batch. */
export const markMailed = ({ seq }: EventRow): Statement =>
  sql`UPDATE event_cursor SET mailed_seq = ${seq} WHERE mailed_seq < ${seq}`;

const isOf = (organizationId: string | null): Statement =>
  organizationId === null
    ? sql`true`
    : sql`e.organization = (SELECT o.number FROM organizations o WHERE o.id = ${organizationId})`;
