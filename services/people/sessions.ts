// A person's own sessions: listing and ending them, and switching the organization.
import {
  deleteSessionOfUser,
  deleteSessionsOfUser,
  endLastingAccess,
  listSessionsOfUser,
  updateSessionOrganization,
} from "../../db/access/mod.ts";
import { updateLastOrganization } from "../../db/people/users.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { sessionsPerUserMax } from "../../domain/limits.ts";
import type { Session } from "../../domain/access/session.ts";
import { isoTime } from "../../domain/time.ts";
import {
  accessTo,
  requirePermission,
  sessionBounds,
  sessionIdleMs,
  sessionMaxMs,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

/** Lists the person's own sessions, last used first. The one that makes the request is always included. */
export async function listSessions(context: SessionContext, actor: SessionActor) {
  const { config, database, clock } = context;
  const rows = await listSessionsOfUser(database, actor.user.id, {
    bounds: sessionBounds(config, clock()),
    always: actor.id,
    limit: sessionsPerUserMax,
  });
  rows.sort((a, b) => b.lastSeenAt - a.lastSeenAt || (a.id < b.id ? 1 : -1));
  return rows.map(({ id, createdAt, lastSeenAt, address, userAgent }) => ({
    id,
    current: id === actor.id,
    createdAt: isoTime(createdAt),
    lastSeenAt: isoTime(lastSeenAt),
    expiresAt: isoTime(Math.min(createdAt + sessionMaxMs(config), lastSeenAt + sessionIdleMs(config))),
    address,
    userAgent,
  }));
}

/** @throws {AppError} `not_found`. */
export async function endSession(context: SessionContext, actor: SessionActor, id: string): Promise<void> {
  if (!isId("ses", id)) throw notFoundError();
  // Ending the current session is signing out, and is recorded as such.
  const target = id === actor.id ? {} : { target: { id, name: null } };
  const isEnded = await writeChange(context, actor, {
    statement: deleteSessionOfUser(actor.user.id, id),
    entry: { action: "session.ended", ...target },
  });
  if (!isEnded) throw notFoundError();
}

export async function endOtherSessions(context: SessionContext, actor: SessionActor): Promise<void> {
  await writeChange(context, actor, {
    statement: endLastingAccess(actor.user.id, context.clock()),
    entry: { action: "session.others_ended" },
    after: ({ audited }) => [deleteSessionsOfUser(actor.user.id, { keep: actor.id, audited })],
  });
}

/** Makes another organization the active one, now and at the next sign-in. @throws {AppError} `not_found` for non-members. */
export async function switchOrganization(
  { writeAs }: SessionContext,
  actor: SessionActor,
  organizationId: string,
): Promise<Session> {
  const writer = requirePermission(accessTo(actor, organizationId), "members.read");
  await writeAs(writer, [
    updateSessionOrganization({ id: actor.id, userId: actor.user.id }, organizationId),
    updateLastOrganization(actor.user.id, organizationId),
  ]);
  const organization = actor.memberships.find((one) => one.organizationId === organizationId) ?? null;
  return { ...actor, organization };
}
