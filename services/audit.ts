// The audit log: what those may read who run an organization, what is noted of attempts that were refused, and its end.
import { findActiveApiKey } from "../db/api_keys.ts";
import {
  type AuditActorRow,
  type AuditPosition,
  deleteAuditEventsBefore,
  findAuditActors,
  findAuditEvents,
  findOldestAuditEventAt,
  insertAuditEvent,
} from "../db/audit.ts";
import { findSessions } from "../db/sign_in/sessions.ts";
import type { Actor, ClientInfo, SessionActor } from "../domain/actor.ts";
import { addressGroup } from "../domain/address_group.ts";
import type { AuditAction, AuditEntry, AuditEvent } from "../domain/audit.ts";
import { AppError, forbiddenError, validationError } from "../domain/errors.ts";
import { isId } from "../domain/id.ts";
import {
  auditLookUpsMax,
  auditNotedIntervalMs,
  auditPageActorsMax,
  auditRetentionMs,
  retentionStepRecordsMax,
} from "../domain/limits.ts";
import { mayDo } from "../domain/permissions.ts";
import type { Session } from "../domain/sign_in/session.ts";
import { shownAuditEvent } from "./audit_csv.ts";
import type { BaseContext } from "./base_context.ts";
import { RateLimiter } from "./rate_limiter.ts";
import type { ReportBytes, Reports } from "./reports/reports.ts";
import { sessionBounds, wellFormedHash } from "./sign_in/session_tokens.ts";

/** Which entries to read. Times in milliseconds since 1970: `from` is included, `to` is not; without them, all. */
export interface AuditFilter {
  readonly actions?: readonly AuditAction[] | undefined;
  /** Of a person or a key. */
  readonly actorId?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** A page of them. */
export interface AuditListQuery extends AuditFilter {
  readonly limit: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** What was refused: never the query, which may have secrets. */
export interface DeniedAttempt {
  readonly method: string;
  /** The path as the route has it, with names where the request has ids. */
  readonly route: string;
  /** The path of the request: an organization that is named in it is whose audit log gets the entry. */
  readonly path: string;
  readonly reason: "forbidden" | "cross_site";
}

/** The verbs of the audit log. */
export interface AuditService {
  /**
   * Lists entries of the active organization, newest first.
   *
   * @returns A page, and the cursor of the next, or null at the end.
   * @throws {AppError} `forbidden`; `validation_failed` for a cursor that is none and for a `to` that is not after `from`.
   */
  listAuditEvents(
    session: Session,
    query: AuditListQuery,
  ): Promise<{ events: AuditEvent[]; nextCursor: string | null }>;
  /** Reads any number of entries. @returns CSV. @throws {AppError} As {@linkcode listAuditEvents}; `unavailable`. */
  readAuditCsv(session: Session, filter: AuditFilter, signal: AbortSignal): Promise<ReportBytes>;
  /** @returns People who are in the active organization's log, for others to choose from. @throws {AppError} `forbidden`. */
  listAuditActors(session: Session): Promise<AuditActorRow[]>;
  /** Notes in the background that somebody tried what they may not do; at most once a minute for each person and route. */
  noteDenied(actor: SessionActor, attempt: DeniedAttempt): void;
  /** The same where nobody has looked yet whose session it is. Strangers are not noted: they could fill the log. */
  noteDeniedTokens(tokens: readonly string[], client: ClientInfo, attempt: DeniedAttempt): void;
  /** Notes in the background that a key called too often; at most once a minute for each key. */
  noteLimitedApiKey(keyHash: string, client: ClientInfo): void;
  /** Deletes some of the entries that are too old. @returns Whether there may be more. */
  deleteOldAuditEvents(): Promise<boolean>;
}

/** Before every place in the list. */
const newest: AuditPosition = { at: Number.MAX_SAFE_INTEGER, id: "" };

/**
 * @param context See {@linkcode BaseContext}.
 * @param parts `reports`: where the whole log is read. `onBackgroundError`: told when a refused attempt could not be noted.
 */
export function createAuditService(
  context: BaseContext,
  parts: { reports: Reports; onBackgroundError: (error: unknown) => void },
): AuditService {
  const { config, database, clock } = context;
  const { reports } = parts;
  const noted = new RateLimiter({ points: 1, windowMs: auditNotedIntervalMs, clock });
  const lookUps = new RateLimiter({ points: auditLookUpsMax, windowMs: auditNotedIntervalMs, clock });

  async function note(actor: Actor, entry: AuditEntry): Promise<void> {
    await database.write([insertAuditEvent(actor, entry, { now: clock(), always: true }).statement]);
  }

  function noteAttempt(actor: SessionActor, attempt: DeniedAttempt): Promise<void> {
    const { method, route, path, reason } = attempt;
    if (!noted.take(`${actor.user.id} ${method} ${route}`).isAllowed) return Promise.resolve();
    const segments = path.split("/");
    const named = actor.memberships.find(({ organizationId }) => segments.includes(organizationId));
    return note(actor, {
      action: "access.denied",
      organizationId: (named ?? actor.organization)?.organizationId ?? null,
      details: { method, path: route, reason },
    });
  }

  async function findActor(hashes: readonly string[], client: ClientInfo): Promise<SessionActor | null> {
    const found = await findSessions(database, hashes, sessionBounds(config, clock()));
    const [first, ...others] = found.map(({ session }) => session);
    if (first === undefined || others.some(({ user }) => user.id !== first.user.id)) return null;
    return { ...first, type: "session", client };
  }

  return {
    async listAuditEvents(session, { limit, cursor, ...filter }) {
      const query = rangeOf(session, filter, cursor);
      const rows = await findAuditEvents(database, { ...query, limit: limit + 1 });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const isMore = rows.length > limit && last !== undefined;
      return { events: page.map(shownAuditEvent), nextCursor: isMore ? `${last.at}.${last.id}` : null };
    },

    readAuditCsv: async (session, filter, signal) =>
      await reports.bytes("auditCsv", { ...rangeOf(session, filter), now: clock() }, signal),

    listAuditActors: async (session) =>
      await findAuditActors(database, {
        organizationId: organizationOf(session),
        limit: auditPageActorsMax,
      }),

    noteDenied(actor, attempt) {
      noteAttempt({ ...actor, client: taken(actor.client) }, attempt).catch(parts.onBackgroundError);
    },

    noteDeniedTokens(tokens, client, attempt) {
      const hashes = tokens.map(wellFormedHash).filter((one) => one !== null);
      if (hashes.length === 0 || !lookUps.take(addressGroup(client.address)).isAllowed) return;
      findActor(hashes, taken(client))
        .then((actor) => actor === null ? undefined : noteAttempt(actor, attempt))
        .catch(parts.onBackgroundError);
    },

    noteLimitedApiKey(keyHash, client) {
      if (!noted.take(keyHash).isAllowed) return;
      const from = taken(client);
      findActiveApiKey(database, keyHash, clock())
        .then((key) =>
          key === undefined ? undefined : note({ type: "apiKey", id: key.id, client: from }, {
            action: "api_key.limited",
            organizationId: key.organizationId,
            target: { id: key.id, name: key.name },
          })
        )
        .catch(parts.onBackgroundError);
    },

    async deleteOldAuditEvents() {
      const before = clock() - auditRetentionMs;
      const oldest = await findOldestAuditEventAt(database);
      if (oldest === undefined || oldest >= before) return false;
      const [deleted] = await database.write([
        deleteAuditEventsBefore(before, { limit: retentionStepRecordsMax }),
      ]);
      return deleted?.changes === retentionStepRecordsMax;
    },
  };
}

/** @returns The active organization's id. @throws {AppError} `forbidden` to who may not read its audit log. */
function organizationOf({ organization }: Session): string {
  if (organization === null) {
    throw new AppError("forbidden", "You do not belong to an organization whose audit log you may read.");
  }
  if (!mayDo(organization.role, "audit.read")) throw forbiddenError();
  return organization.organizationId;
}

function rangeOf(session: Session, filter: AuditFilter, cursor?: string) {
  const organizationId = organizationOf(session);
  const { actions, actorId, from = 0, to } = filter;
  if (to !== undefined && to <= from) {
    throw validationError([{ path: "to", message: "must be after “from”." }]);
  }
  const end = to === undefined ? newest : { at: to, id: "" };
  const position = cursor === undefined ? newest : parseAuditCursor(cursor);
  if (position === null) {
    throw validationError([{ path: "cursor", message: "must be a “nextCursor” of this list." }]);
  }
  return { organizationId, actions, actorId, from, before: position.at < end.at ? position : end };
}

/** @returns The place that a cursor names, or null for a text that is none. */
export function parseAuditCursor(cursor: string): AuditPosition | null {
  const [, at, id = ""] = /^(\d{1,15})\.(.+)$/.exec(cursor) ?? [];
  return at !== undefined && isId("aud", id) ? { at: Number(at), id } : null;
}

/** Of a request nothing can be read any more when its answer has gone out. */
function taken({ address, userAgent, requestId }: ClientInfo): ClientInfo {
  return { address, userAgent, requestId };
}
