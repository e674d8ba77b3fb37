// All SQL of the audit log. An entry is written in the batch of the change that it is about, and only if that change was made.
import type { Actor } from "../domain/actor.ts";
import type { AuditAction, AuditEntry } from "../domain/audit.ts";
import { newId } from "../domain/id.ts";
import { type Database, sql, type Statement } from "./database.ts";

/** A statement that writes an entry, and the entry's id, which later statements of the batch can ask for. */
export interface AuditStatement {
  readonly id: string;
  readonly statement: Statement;
}

const userAgentCharactersMax = 400;

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
  const { client } = actor;
  const name = actor.type === "session" ? actor.user.name : null;
  const actorId = actor.type === "session" ? actor.user.id : actor.type === "apiKey" ? actor.id : null;
  const active = actor.type === "session" ? actor.organization?.organizationId ?? null : null;
  const statement = sql(
    `INSERT INTO audit_events (id, at, action, organization_id, actor_type, actor_id, actor_name, target_id, target_name,
       details, address, user_agent, request_id)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? ${
      options.always ? "" : "WHERE changes() > 0"
    } RETURNING id`,
    id,
    options.now,
    entry.action,
    entry.organizationId === undefined ? active : entry.organizationId,
    actor.type,
    actorId,
    name,
    entry.target?.id ?? null,
    entry.target?.name ?? null,
    JSON.stringify(entry.details ?? {}),
    client.address,
    client.userAgent.slice(0, userAgentCharactersMax),
    client.requestId,
  );
  return { id, statement };
}

/** A condition for later statements of a batch: the change that an audit entry is about was made. Takes the entry's id. */
export const ifAudited = "EXISTS (SELECT 1 FROM audit_events WHERE id = ?)";

/** Which entries of an organization. Times in milliseconds since 1970: `from` is included, `to` is not. */
export interface AuditQuery {
  readonly organizationId: string;
  readonly actions?: readonly AuditAction[] | undefined;
  readonly actorId?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Only entries before this one, which is older. */
  readonly before?: string | undefined;
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

/** @returns Entries newest first. @throws {DatabaseError} */
export function listAuditEvents(database: Database, query: AuditQuery): Promise<AuditEventRow[]> {
  return database.read(sql(
    `SELECT id, at, action, actor_type AS actorType, actor_id AS actorId, actor_name AS actorName, target_id AS targetId,
       target_name AS targetName, details, address, user_agent AS userAgent, request_id AS requestId
     FROM audit_events
     WHERE organization_id = ?1 AND (?2 IS NULL OR id < ?2)
       AND (?3 IS NULL OR action IN (SELECT value FROM json_each(?3)))
       AND (?4 IS NULL OR actor_id = ?4) AND (?5 IS NULL OR at >= ?5) AND (?6 IS NULL OR at < ?6)
     ORDER BY id DESC LIMIT ?7`,
    query.organizationId,
    query.before ?? null,
    query.actions === undefined ? null : JSON.stringify(query.actions),
    query.actorId ?? null,
    query.from ?? null,
    query.to ?? null,
    query.limit,
  ));
}

/** @returns A statement that deletes entries older than a time, at most so many. */
export function deleteOldAuditEvents({ before, limit }: { before: number; limit: number }): Statement {
  return sql(
    "DELETE FROM audit_events WHERE id IN (SELECT id FROM audit_events WHERE at < ? ORDER BY at LIMIT ?)",
    before,
    limit,
  );
}
