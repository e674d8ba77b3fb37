// The audit log: reading it, adding denied requests to it, and deleting old entries.
import { findActiveApiKey } from "../../db/access/active_api_keys.ts";
import {
  type AuditActorRow,
  type AuditPosition,
  deleteAuditEventsBefore,
  findAuditActors,
  findAuditEvents,
  findOldestAuditEventAt,
  writeAuditEvent,
} from "../../db/access/audit.ts";
import { findSessions } from "../../db/access/sessions.ts";
import {
  clientCopy,
  type ClientInfo,
  type OperatorActor,
  type SessionActor,
} from "../../domain/access/actor.ts";
import { addressGroup } from "../../domain/address_group.ts";
import type { AuditAction, AuditEvent } from "../../domain/access/audit.ts";
import { validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { auditPageActorsMax, auditRetentionMs, retentionStepRecordsMax } from "../../domain/limits.ts";
import { toAuditEvent } from "./jobs/audit_csv.ts";
import { type Access, requirePermission, seesOperators } from "./access.ts";
import type { Context, SessionContext } from "../context.ts";
import { invalidCursorError, type PageInput, readPage } from "../pages.ts";
import { operatorReader } from "../reports/job_reader.ts";
import type { JobBytes } from "../reports/reports.ts";
import { sessionBounds, wellFormedHashes } from "./session_tokens.ts";

/** Selects all entries unless filtered. */
export interface AuditFilter {
  readonly actions?: readonly AuditAction[] | undefined;
  /** The id of a user or a key. */
  readonly actorId?: string | undefined;
  /** Only entries about these; `actorId` is ignored. */
  readonly targetIds?: readonly string[] | undefined;
  /** Inclusive. */
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

/** A denied request, without its query, which may contain secrets. */
interface DeniedRequest {
  readonly method: string;
  /** The path of the route, with parameter names instead of ids. */
  readonly route: string;
  /** The path of the request. The entry goes to the audit log of the organization in it, if the user is a member. */
  readonly path: string;
  readonly reason: "forbidden" | "cross_site";
}

/** An organization's log or, for operators, the log of all operators' actions. */
type AuditLog = Access | OperatorActor;

/** The position before all entries. */
const newest: AuditPosition = { at: Number.MAX_SAFE_INTEGER, id: "" };

/** Lists entries, newest first. @throws {AppError} `forbidden`; `validation_failed` for an invalid cursor or range. */
export async function listAuditEvents(
  { database }: SessionContext,
  log: AuditLog,
  { limit, ...filter }: AuditFilter & PageInput,
): Promise<{ events: AuditEvent[]; nextCursor: string | null }> {
  const { reader: _reader, ...scope } = scopeOf(log);
  const query = { ...scope, ...rangeOf(filter) };
  const { rows, nextCursor } = await readPage(
    (limit) => findAuditEvents(database, { ...query, limit }),
    { limit, cursorOf: ({ at, id }) => `${at}.${id}` },
  );
  return { events: rows.map((row) => toAuditEvent(row, scope)), nextCursor };
}

/** Reads all matching entries as CSV. @throws {AppError} As {@linkcode listAuditEvents}; `unavailable`. */
export async function readAuditCsv(
  { reports, clock }: SessionContext,
  log: AuditLog,
  { filter, signal }: { filter: AuditFilter; signal: AbortSignal },
): Promise<JobBytes> {
  const { reader, ...scope } = scopeOf(log);
  return await reports.bytes("auditCsv", { ...scope, ...rangeOf(filter), now: clock() }, { reader, signal });
}

/** Lists the people in an organization's log. @throws {AppError} `forbidden`. */
export async function listAuditActors(
  { database }: SessionContext,
  access: Access,
): Promise<AuditActorRow[]> {
  requirePermission(access, "audit.read");
  const { organizationId } = access;
  return await findAuditActors(database, { organizationId, limit: auditPageActorsMax });
}

function scopeOf(log: AuditLog) {
  if ("type" in log) return { organizationId: null, isForOperators: true, reader: operatorReader(log) };
  requirePermission(log, "audit.read");
  const { organizationId, reader } = log;
  return { organizationId, isForOperators: seesOperators(log), reader };
}

/** Logs a denied request in the background, at most once a minute for each user and route. */
export function noteDenied(context: Context, actor: SessionActor, request: DeniedRequest): void {
  insertDenied(context, { ...actor, client: clientCopy(actor.client) }, request).catch(
    context.onBackgroundError,
  );
}

/** Logs a denied request whose session is not known yet. Requests without a session would flood the log: they are ignored. */
export function noteDeniedTokens(
  context: Context,
  tokens: readonly string[],
  { client, ...request }: DeniedRequest & { client: ClientInfo },
): void {
  const hashes = wellFormedHashes(tokens);
  if (hashes.length === 0) return;
  if (!context.rateLimits.deniedLookups.take(addressGroup(client.address)).isAllowed) return;
  findActor(context, hashes, clientCopy(client))
    .then((actor) => actor === null ? undefined : insertDenied(context, actor, request))
    .catch(context.onBackgroundError);
}

/** Logs in the background that a key exceeded its rate limit, at most once a minute for each key. */
export function noteLimitedApiKey(context: Context, keyHash: string, client: ClientInfo): void {
  const { database, clock, rateLimits, onBackgroundError } = context;
  if (!rateLimits.deniedEntries.take(keyHash).isAllowed) return;
  const from = clientCopy(client);
  findActiveApiKey(database, keyHash, clock())
    .then((key) =>
      key === undefined
        ? undefined
        : writeAuditEvent(database, { type: "apiKey", id: key.id, client: from }, {
          action: "api_key.limited",
          organizationId: key.organizationId,
          target: { id: key.id, name: key.name },
        }, clock())
    )
    .catch(onBackgroundError);
}

/** Deletes some of the entries that are past the retention time. @returns True if there may be more. */
export async function deleteOldAuditEvents({ database, clock }: Pick<Context, "database" | "clock">) {
  const before = clock() - auditRetentionMs;
  const oldest = await findOldestAuditEventAt(database);
  if (oldest === undefined || oldest >= before) return false;
  const [deleted] = await database.write([
    deleteAuditEventsBefore(before, { limit: retentionStepRecordsMax }),
  ]);
  return deleted?.changes === retentionStepRecordsMax;
}

/** Returns the position that a cursor names, or null for an invalid cursor. */
export function parseAuditCursor(cursor: string): AuditPosition | null {
  const [, at, id = ""] = /^(\d{1,15})\.(.+)$/.exec(cursor) ?? [];
  return at !== undefined && isId("aud", id) ? { at: Number(at), id } : null;
}

/** @throws {AppError} `validation_failed` for an invalid cursor or range. */
function rangeOf(filter: AuditFilter & { readonly cursor?: string | undefined }) {
  const { actions, actorId, targetIds, from = 0, to, cursor } = filter;
  if (to !== undefined && to <= from) {
    throw validationError([{ path: "to", message: "must be after “from”." }]);
  }
  const end = to === undefined ? newest : { at: to, id: "" };
  const position = cursor === undefined ? newest : parseAuditCursor(cursor);
  if (position === null) throw invalidCursorError();
  return { actions, actorId, targetIds, from, before: position.at < end.at ? position : end };
}

async function insertDenied(context: Context, actor: SessionActor, request: DeniedRequest): Promise<void> {
  const { method, route, path, reason } = request;
  if (!context.rateLimits.deniedEntries.take(`${actor.user.id} ${method} ${route}`).isAllowed) return;
  const segments = path.split("/");
  const named = actor.memberships.find(({ organizationId }) => segments.includes(organizationId));
  await writeAuditEvent(context.database, actor, {
    action: "access.denied",
    organizationId: (named ?? actor.organization)?.organizationId ?? null,
    details: { method, path: route, reason },
  }, context.clock());
}

async function findActor(context: Context, hashes: readonly string[], client: ClientInfo) {
  const { config, database, clock } = context;
  const found = await findSessions(database, hashes, sessionBounds(config, clock()));
  const [first, ...others] = found.map(({ session }) => session);
  if (first === undefined || others.some(({ user }) => user.id !== first.user.id)) return null;
  return { ...first, type: "session" as const, client };
}
