// All SQL of the audit log. An entry is written in the batch of the change that it is about, and only if that change was made.
import type { Actor } from "../domain/actor.ts";
import { type AuditAction, auditActions, type AuditEntry } from "../domain/audit.ts";
import { newId } from "../domain/id.ts";
import { type Database, sql, type Statement } from "./engine/database.ts";

/** A statement that writes an entry, and the entry's id, which later statements of the batch can ask for. */
export interface AuditStatement {
  readonly id: string;
  readonly statement: Statement;
}

const userAgentCharactersMax = 400;
const insert =
  `INSERT INTO audit_events (id, at, action, organization_id, actor_type, actor_id, actor_name, target_id, target_name,
    details, address, user_agent, request_id)`;

function actorColumns(actor: Actor) {
  const name = actor.type === "session" ? actor.user.name : null;
  const id = actor.type === "session" ? actor.user.id : actor.type === "apiKey" ? actor.id : null;
  return [actor.type, id, name] as const;
}

function clientColumns({ client }: Actor) {
  return [client.address, client.userAgent.slice(0, userAgentCharactersMax), client.requestId] as const;
}

/**
 * @param entry What was done. Without `organizationId` it belongs to the actor's active organization.
 * @param options `now`: milliseconds since 1970. `always`: write it whatever the statement before did. Otherwise it is
 *   written only when the statement directly before it in the batch changed at least one row.
 * @returns The statement. It returns the entry's id when it wrote it, so its result says whether the change was made.
 */
export function insertAuditEvent(
  actor: Actor,
  entry: AuditEntry,
  options: { now: number; always?: boolean },
): AuditStatement {
  const id = newId("aud");
  const active = actor.type === "session" ? actor.organization?.organizationId ?? null : null;
  const statement = sql(
    `${insert}
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? ${
      options.always ? "" : "WHERE changes() > 0"
    } RETURNING id`,
    id,
    options.now,
    entry.action,
    entry.organizationId === undefined ? active : entry.organizationId,
    ...actorColumns(actor),
    entry.target?.id ?? null,
    entry.target?.name ?? null,
    JSON.stringify(entry.details ?? {}),
    ...clientColumns(actor),
  );
  return { id, statement };
}

/**
 * @param options `now`: milliseconds since 1970. `rows`: a query with the columns `organizationId`, `targetId`, `targetName` and
 *   `details`.
 * @returns A statement that writes an entry for each row.
 */
export function insertAuditEvents(
  actor: Actor,
  action: AuditAction,
  { now, rows }: { now: number; rows: Statement },
): Statement {
  // The time of the id, with random digits for each entry.
  const idStart = newId("aud").slice(0, -16);
  return sql(
    `${insert}
     SELECT ? || lower(hex(randomblob(8))), ?, ?, r.organizationId, ?, ?, ?, r.targetId, r.targetName, r.details, ?, ?, ?
     FROM (${rows.sql}) r`,
    idStart,
    now,
    action,
    ...actorColumns(actor),
    ...clientColumns(actor),
    ...rows.args,
  );
}

/** A condition for later statements of a batch: the change that an audit entry is about was made. Takes the entry's id. */
export const ifAudited = "EXISTS (SELECT 1 FROM audit_events WHERE id = ?)";

/** A place in the order of the list: by time, then by id, both descending. */
export interface AuditPosition {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly id: string;
}

/** Which entries of an organization. */
export interface AuditQuery {
  readonly organizationId: string;
  /** Left out: every action. */
  readonly actions?: readonly AuditAction[] | undefined;
  readonly actorId?: string | undefined;
  /** Only entries from then on, in milliseconds since 1970. */
  readonly from: number;
  /** Only entries after this place in the list, which are older. */
  readonly before: AuditPosition;
  readonly limit: number;
}

/** An entry as stored. */
export interface AuditEventRow {
  readonly id: string;
  readonly at: number;
  readonly action: AuditAction;
  readonly actorType: Actor["type"];
  readonly actorId: string | null;
  readonly actorName: string | null;
  readonly targetId: string | null;
  readonly targetName: string | null;
  /** JSON. */
  readonly details: string;
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string | null;
}

const inRange = "n.organization_id = ?1 AND (n.at, n.id) < (?2, ?3) AND n.at >= ?4";
const newestFirst = "ORDER BY n.at DESC, n.id DESC LIMIT ?5";
const shownColumns =
  `n.id, n.at, n.action, n.actor_type AS actorType, n.actor_id AS actorId, n.actor_name AS actorName,
  n.target_id AS targetId, n.target_name AS targetName, n.details, n.address, n.user_agent AS userAgent,
  n.request_id AS requestId`;
/**
 * Among a million entries three may fit. So each action's newest are taken from an index in the order of the list, and put
 * together: however many there are of others, nothing else is looked at.
 */
const ofActions = (fits: string) =>
  `SELECT ${shownColumns.replaceAll("n.", "e.")} FROM json_each(?6) a
   CROSS JOIN audit_events e ON e.id IN (
     SELECT n.id FROM audit_events n WHERE ${inRange} AND n.action = a.value ${fits} ${newestFirst})
   ${newestFirst.replaceAll("n.", "e.")}`;
const listAll = `SELECT ${shownColumns} FROM audit_events n WHERE ${inRange} ${newestFirst}`;
const listOfActions = ofActions("");
const listOfActor = ofActions("AND n.actor_id = ?7");

/** @returns Entries newest first. @throws {DatabaseError} */
export function listAuditEvents(database: Database, query: AuditQuery): Promise<AuditEventRow[]> {
  const { organizationId, actions, actorId, from, before, limit } = query;
  const range = [organizationId, before.at, before.id, from, limit] as const;
  if (actorId !== undefined) {
    const names = JSON.stringify(actions ?? Object.keys(auditActions));
    return database.read(sql(listOfActor, ...range, names, actorId));
  }
  return database.read(
    actions === undefined ? sql(listAll, ...range) : sql(listOfActions, ...range, JSON.stringify(actions)),
  );
}

/** Somebody who did something in an organization. */
export interface AuditActorRow {
  readonly id: string;
  /** As it is now, or for who has left as it was. */
  readonly name: string;
  /** Null for who has left. */
  readonly email: string | null;
}

/** @returns The people in an organization's audit log, at most so many. @throws {DatabaseError} */
export function listAuditActors(
  database: Database,
  { organizationId, limit }: { organizationId: string; limit: number },
): Promise<AuditActorRow[]> {
  // One step in the index for each person, however many entries they have.
  return database.read(sql`WITH RECURSIVE a (id) AS (
       SELECT min(actor_id) FROM audit_events WHERE organization_id = ${organizationId} AND actor_id >= 'usr_'
       UNION ALL
       SELECT (SELECT min(n.actor_id) FROM audit_events n WHERE n.organization_id = ${organizationId} AND n.actor_id > a.id)
       FROM a WHERE a.id IS NOT NULL LIMIT ${limit}
     )
     SELECT a.id, u.email, coalesce(u.name,
       (SELECT n.actor_name FROM audit_events n WHERE n.organization_id = ${organizationId} AND n.actor_id = a.id LIMIT 1), a.id) AS name
     FROM a LEFT JOIN memberships m ON m.user_id = a.id AND m.organization_id = ${organizationId}
     LEFT JOIN users u ON u.id = m.user_id
     WHERE a.id IS NOT NULL`);
}

/** @returns When the oldest entry was written, or undefined when there is none. @throws {DatabaseError} */
export async function oldestAuditEventAt(database: Database): Promise<number | undefined> {
  const row = await database.readFirst<{ at: number }>(
    sql`SELECT at FROM audit_events ORDER BY at LIMIT 1`,
  );
  return row?.at;
}

/** @returns A statement that deletes entries older than a time, at most so many. */
export function deleteOldAuditEvents({ before, limit }: { before: number; limit: number }): Statement {
  return sql`DELETE FROM audit_events WHERE id IN (SELECT id FROM audit_events WHERE at < ${before} ORDER BY at LIMIT ${limit})`;
}
