// Portal sessions: a product's server creates one, its customer's browser opens it once, and every request asks whether it is live.
import {
  deletePortalSessionsBefore,
  endPortalSession as markEnded,
  endReopenedPortalSession,
  findLivePortalSession,
  findPortalSessionOwner,
  insertAuditEvent,
  insertPortalSession,
  openPortalSession as markOpened,
  type PortalSessionOwnerRow,
} from "../../db/access/mod.ts";
import type { ClientInfo, OperatorActor, PortalSessionActor } from "../../domain/access/actor.ts";
import { AppError, invalidOperatorTokenError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { retentionStepRecordsMax } from "../../domain/limits.ts";
import {
  portalSessionEntryMs,
  portalSessionKeptMs,
  portalSessionReentryMs,
  portalSessionsLiveMax,
} from "../../domain/keys/portal_session_limits.ts";
import {
  type CreatedPortalSession,
  embedEnterHref,
  type PortalPage,
  portalPermissions,
  type PortalSession,
} from "../../domain/keys/portal_session.ts";
import { safeReturnTo } from "../../domain/people/return_to.ts";
import { isoTime } from "../../domain/time.ts";
import {
  derivedToken,
  hashToken,
  newToken,
  type PortalSessionAccess,
  requireAllowed,
  resolveOrganization,
  wellFormedHash,
  wellFormedHashes,
  writeChange,
} from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { membersOf } from "../reports/job_reader.ts";

interface PortalSessionInput {
  /** An id, or `external:` and an external id. */
  readonly organization: string;
  readonly pages: readonly PortalPage[];
  readonly user?: { readonly externalId: string; readonly name: string } | undefined;
  readonly readOnly: boolean;
  readonly returnUrl?: string | undefined;
  readonly minutes: number;
}

/**
 * Creates a session, which ends no later than the operator token.
 *
 * @throws {AppError} `not_found`, `limit_reached`, `rate_limited`; `validation_failed` for a `returnUrl` of an origin that isn't set.
 */
export async function createPortalSession(
  context: SessionContext,
  actor: OperatorActor,
  input: PortalSessionInput,
): Promise<CreatedPortalSession> {
  const { credential } = actor;
  if (credential.kind !== "token") throw invalidOperatorTokenError();
  const { config, clock, rateLimits } = context;
  const returnUrl = input.returnUrl === undefined ? null : checkedReturnUrl(context, input.returnUrl);
  requireAllowed(rateLimits.portalSessions.take(credential.id));
  const { id: organizationId } = await resolveOrganization(context, input.organization);
  const now = clock();
  const id = newId("pse");
  const token = newToken();
  const expiresAt = now + input.minutes * 60_000;
  const { pages, user, readOnly } = input;
  const isCreated = await writeChange(context, actor, {
    statement: insertPortalSession({
      id,
      organizationId,
      operatorTokenId: credential.id,
      entryHash: hashToken(token),
      entryExpiresAt: Math.min(now + portalSessionEntryMs, expiresAt),
      pages: JSON.stringify(pages),
      isReadOnly: readOnly,
      userExternalId: user?.externalId ?? null,
      userName: user?.name ?? null,
      returnUrl,
      now,
      expiresAt,
    }, { liveMax: portalSessionsLiveMax }),
    entry: {
      action: "portal_session.created",
      organizationId,
      target: { id, name: user?.name ?? null },
      details: {
        pages: pages.join(", "),
        access: readOnly ? "read only" : "full",
        ...(user && { externalUserId: user.externalId }),
        expiresAt: isoTime(expiresAt),
      },
    },
  });
  if (!isCreated) {
    await resolveOrganization(context, organizationId);
    const max = `${portalSessionsLiveMax.toLocaleString("en")} portal sessions`;
    throw new AppError("limit_reached", `The organization has ${max} already. End some, or wait.`);
  }
  return {
    id,
    url: `${config.baseUrl.origin}${embedEnterHref}?token=${token}`,
    expiresAt: isoTime(expiresAt),
  };
}

/** @throws {AppError} `validation_failed` unless the address belongs to a product of ours. */
function checkedReturnUrl({ config }: Pick<SessionContext, "config">, text: string): string {
  const url = safeReturnTo(text, {
    base: config.baseUrl,
    isAllowedOrigin: (origin) =>
      config.embedOrigins.includes(origin) || config.allowedOrigins.some(({ matches }) => matches(origin)),
  });
  if (url !== null && URL.canParse(url)) return url;
  const message = "must be a URL whose origin is in EMBED_ORIGINS or ALLOWED_ORIGINS.";
  throw validationError([{ path: "returnUrl", message }]);
}

/** Ends a session, effective immediately. Ending it again changes nothing. @throws {AppError} `not_found`. */
export async function endPortalSession(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<void> {
  const owner = isId("pse", id) ? await findPortalSessionOwner(context.database, { id }) : undefined;
  if (owner === undefined) throw notFoundError();
  const { organizationId, userName: name } = owner;
  await writeChange(context, actor, {
    statement: markEnded(id, context.clock()),
    entry: { action: "portal_session.ended", organizationId, target: { id, name } },
  });
}

/**
 * Opens a session with the token of its address, which works once: a second use ends what the first has opened, except by the same
 * client within seconds, which gets the same session again.
 *
 * @returns The session's id and the token for its cookie. Null if the address doesn't work.
 */
export async function openPortalSession(
  { database, clock }: Context,
  client: ClientInfo,
  entryToken: string,
): Promise<{ id: string; token: string } | null> {
  const entryHash = wellFormedHash(entryToken);
  const owner = entryHash && await findPortalSessionOwner(database, { entryHash });
  if (!owner) return null;
  const now = clock();
  const token = derivedToken(entryToken, [client.address, client.userAgent]);
  const use = { entryHash, tokenHash: hashToken(token), now };
  const actor = actorOf(owner, { client, permissions: new Set() });
  const about = { organizationId: owner.organizationId, target: { id: owner.id, name: owner.userName } };
  const reason = "its address was used twice";
  const [, opened] = await database.write([
    markOpened(use, { reentryMs: portalSessionReentryMs }),
    insertAuditEvent(actor, { ...about, action: "portal_session.opened" }, { now }).statement,
    endReopenedPortalSession(use),
    insertAuditEvent(actor, { ...about, action: "portal_session.ended", details: { reason } }, { now })
      .statement,
  ]);
  return opened?.rows.length === 1 ? { id: owner.id, token } : null;
}

/** Finds a live session by its id and the tokens of a request's cookies. */
export async function findPortalSession(
  { database, clock }: Pick<Context, "database" | "clock">,
  { id, tokens }: { id: string; tokens: readonly string[] },
): Promise<PortalSession | null> {
  const tokenHashes = wellFormedHashes(tokens);
  if (tokenHashes.length === 0 || !isId("pse", id)) return null;
  const row = await findLivePortalSession(database, { id, tokenHashes, now: clock() });
  if (row === undefined) return null;
  const { suspendedAt, readOnly, pages, ...session } = row;
  return {
    ...session,
    pages: JSON.parse(pages),
    isReadOnly: readOnly === 1,
    isSuspended: suspendedAt !== null,
  };
}

/** Returns the access that a session has. It takes turns with the organization's members on the reports thread. */
export function portalSessionAccess(session: PortalSession, client: ClientInfo): PortalSessionAccess {
  const { organizationId, organizationName, timezone } = session;
  return {
    actor: actorOf(session, { client, permissions: portalPermissions(session) }),
    role: null,
    organizationId,
    organizationName,
    timezone,
    reader: membersOf(organizationId),
  };
}

/** Deletes some of the sessions that expired a while ago. @returns True if there may be more. */
export async function deleteOldPortalSessions(
  { database, clock }: Pick<Context, "database" | "clock">,
): Promise<boolean> {
  const before = clock() - portalSessionKeptMs;
  const [deleted] = await database.write([
    deletePortalSessionsBefore(before, { limit: retentionStepRecordsMax }),
  ]);
  return deleted?.changes === retentionStepRecordsMax;
}

function actorOf(
  { id, organizationId, userName, tokenName }: PortalSessionOwnerRow,
  more: Pick<PortalSessionActor, "client" | "permissions">,
): PortalSessionActor {
  const name = userName === null ? tokenName : `${userName} via ${tokenName}`;
  return { type: "portalSession", id, name, organizationId, ...more };
}
