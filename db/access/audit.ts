// All SQL of the audit log. An entry is written in the same batch as the change it describes, and only if that change was made.
import { type Actor, operatorIdentity } from "../../domain/access/actor.ts";
import {
  type AuditAction,
  auditActions,
  type AuditEntry,
  type AuditEvent,
} from "../../domain/access/audit.ts";
import { newId } from "../../domain/id.ts";
import { type Database, type DatabaseReader, sql, type Statement } from "../engine/database.ts";

const userAgentCharactersMax = 400;
const insert =
  sql`INSERT INTO audit_events (id, at, action, organization_id, actor_type, actor_id, actor_name, target_id,
    target_name, details, address, user_agent, request_id)`;

function identityOf(actor: Actor): { readonly id: string | null; readonly name: string | null } {
  if (actor.type === "session") return actor.user;
  if (actor.type === "portalSession") return actor;
  if (actor.type === "apiKey") return { id: actor.id, name: actor.name ?? null };
  return actor.type === "operator" ? operatorIdentity(actor) : { id: null, name: null };
}

/** Returns an actor as entries and events name it. */
export function actorFacts(actor: Actor) {
  const { id, name } = identityOf(actor);
  return { type: actor.type === "portalSession" ? "session" : actor.type, id, name };
}

/** JSON of the actor of the entry `a`. */
export const actorOfEntry = sql`json_object('type', a.actor_type, 'id', a.actor_id, 'name', a.actor_name)`;

function actorColumns(actor: Actor) {
  const { type, id, name } = actorFacts(actor);
  return sql`${type}, ${id}, ${name}`;
}

function clientColumns({ client }: Actor) {
  return sql`${client.address}, ${client.userAgent.slice(0, userAgentCharactersMax)}, ${client.requestId}`;
}

/**
 * Writes an entry for a change.
 *
 * @param entry Without `organizationId`, it belongs to the actor's active organization.
 * @param options `always`: write the entry in any case. Otherwise it is written only when the statement directly before it in
 *   the batch changed at least one row.
 * @returns The entry's id, for later statements of the batch, and the statement that writes it. That returns the id if it
 *   wrote the entry, so its result says whether the change was made.
 */
export function insertAuditEvent(
  actor: Actor,
  { action, organizationId, target, details = {} }: AuditEntry,
  { now, always = false }: { now: number; always?: boolean },
): { id: string; statement: Statement } {
  const id = newId("aud");
  const active = actor.type === "session"
    ? actor.organization?.organizationId ?? null
    : actor.type === "portalSession"
    ? actor.organizationId
    : null;
  const statement = sql`${insert}
    SELECT ${id}, ${now}, ${action}, ${organizationId === undefined ? active : organizationId},
      ${actorColumns(actor)}, ${target?.id ?? null}, ${target?.name ?? null}, ${JSON.stringify(details)},
      ${clientColumns(actor)}
    WHERE ${always ? sql`true` : sql`changes() > 0`} RETURNING id`;
  return { id, statement };
}

/** Writes an entry that depends on no change. */
export async function writeAuditEvent(database: Database, actor: Actor, entry: AuditEntry, now: number) {
  await database.write([insertAuditEvent(actor, entry, { now, always: true }).statement]);
}

/** Writes an entry for each of `rows`: a query with the columns `organizationId`, `targetId`, `targetName` and `details`. */
export function insertAuditEvents(
  actor: Actor,
  action: AuditAction,
  { now, rows }: { now: number; rows: Statement },
): Statement {
  // The time of the id, with random digits for each entry.
  const idStart = newId("aud").slice(0, -16);
  return sql`${insert}
    SELECT ${idStart} || lower(hex(randomblob(8))), ${now}, ${action}, r.organizationId, ${
    actorColumns(actor)
  },
      r.targetId, r.targetName, r.details, ${clientColumns(actor)}
    FROM (${rows}) r`;
}

/** The time of a change, and the id of its audit entry. */
export interface Audited {
  readonly now: number;
  readonly audited: string;
}

/** A condition for later statements of a batch: the change that an audit entry is about was made. */
export const ifAudited = (id: string): Statement => sql`EXISTS (SELECT 1 FROM audit_events WHERE id = ${id})`;

/** A position in the list, which is ordered by time and then by id, both descending. */
export interface AuditPosition {
  readonly at: number;
  readonly id: string;
}

export interface AuditQuery {
  /** Null for all that operators did. */
  readonly organizationId: string | null;
  /** Otherwise, `actorId` finds nothing that an operator did. */
  readonly isForOperators?: boolean | undefined;
  readonly actions?: readonly AuditAction[] | undefined;
  readonly actorId?: string | undefined;
  /** Only entries about these; `actorId` is ignored. */
  readonly targetIds?: readonly string[] | undefined;
  readonly from: number;
  /** The position in the list after which to read; older entries follow. */
  readonly before: AuditPosition;
  readonly limit: number;
}

/** An entry as stored. `details`: JSON. */
export interface AuditEventRow {
  readonly id: string;
  readonly at: number;
  readonly action: AuditAction;
  readonly organizationId: string | null;
  readonly actorType: AuditEvent["actor"]["type"];
  readonly actorId: string | null;
  readonly actorName: string | null;
  readonly targetId: string | null;
  readonly targetName: string | null;
  readonly details: string;
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string | null;
}

const columns =
  sql`e.id, e.at, e.action, e.organization_id AS organizationId, e.actor_type AS actorType, e.actor_id AS actorId,
  e.actor_name AS actorName, e.target_id AS targetId, e.target_name AS targetName, e.details, e.address,
  e.user_agent AS userAgent, e.request_id AS requestId`;

/** Returns entries, newest first. */
export function findAuditEvents(database: DatabaseReader, query: AuditQuery): Promise<AuditEventRow[]> {
  const { organizationId, isForOperators = false, actions, actorId, targetIds, from, before, limit } = query;
  const isInLog = organizationId === null
    ? sql`e.actor_type = 'operator'`
    : sql`e.organization_id = ${organizationId}`;
  const isInRange = sql`${isInLog}
    AND (e.at, e.id) < (${before.at}, ${before.id}) AND e.at >= ${from}`;
  const newest = sql`ORDER BY e.at DESC, e.id DESC LIMIT ${limit}`;
  if (actions === undefined && actorId === undefined && targetIds === undefined) {
    return database.read(sql`SELECT ${columns} FROM audit_events e WHERE ${isInRange} ${newest}`);
  }
  const names = JSON.stringify(actions ?? Object.keys(auditActions));
  const isActor = actorId === undefined
    ? sql`true`
    : isForOperators
    ? sql`e.actor_id = ${actorId}`
    : sql`e.actor_id = ${actorId} AND e.actor_type <> 'operator'`;
  // Among a million entries three may match. So the newest of each action are read from an index in the order of the list, and
  // merged: no other entries are read, however many there are.
  if (targetIds !== undefined) {
    return database.read(sql`
      SELECT ${columns} FROM json_each(${JSON.stringify(targetIds)}) t CROSS JOIN json_each(${names}) a
      CROSS JOIN audit_events e ON e.id IN (
        SELECT e.id FROM audit_events e WHERE ${isInRange} AND e.target_id = t.value AND e.action = a.value
        ${newest})
      ${newest}`);
  }
  return database.read(sql`
    SELECT ${columns} FROM json_each(${names}) a CROSS JOIN audit_events e ON e.id IN (
      SELECT e.id FROM audit_events e WHERE ${isInRange} AND e.action = a.value AND ${isActor} ${newest})
    ${newest}`);
}

export interface AuditActorRow {
  readonly id: string;
  /** Their current name; for former members, the name they had. */
  readonly name: string;
  /** Null for former members. */
  readonly email: string | null;
}

/** Returns the people in an organization's audit log without operators, at most `limit`. */
export function findAuditActors(
  database: DatabaseReader,
  { organizationId, limit }: { organizationId: string; limit: number },
): Promise<AuditActorRow[]> {
  // One step in the index for each person, however many entries they have.
  return database.read(sql`
    WITH RECURSIVE a (id) AS (
      SELECT min(actor_id) FROM audit_events WHERE organization_id = ${organizationId} AND actor_id >= 'usr_'
      UNION ALL
      SELECT (SELECT min(e.actor_id) FROM audit_events e
        WHERE e.organization_id = ${organizationId} AND e.actor_id > a.id)
      FROM a WHERE a.id IS NOT NULL LIMIT ${limit}
    )
    SELECT a.id, u.email, coalesce(u.name, e.actor_name, a.id) AS name
    FROM a JOIN audit_events e ON e.id = (SELECT e.id FROM audit_events e
      WHERE e.organization_id = ${organizationId} AND e.actor_id = a.id AND e.actor_type <> 'operator' LIMIT 1)
    LEFT JOIN memberships m ON m.user_id = a.id AND m.organization_id = ${organizationId}
    LEFT JOIN users u ON u.id = m.user_id`);
}

export async function findOldestAuditEventAt(database: DatabaseReader): Promise<number | undefined> {
  return (await database.readFirst<{ at: number }>(sql`SELECT at FROM audit_events ORDER BY at LIMIT 1`))?.at;
}

export function deleteAuditEventsBefore(before: number, { limit }: { limit: number }) {
  return sql`DELETE FROM audit_events
    WHERE id IN (SELECT id FROM audit_events WHERE at < ${before} ORDER BY at LIMIT ${limit})`;
}
