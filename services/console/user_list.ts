// Operators' lists of users.
import { findListedUser, findUsers } from "../../db/console/users.ts";
import { findUsablePasskeys } from "../../db/people/mod.ts";
import { listSessionsOfUser } from "../../db/access/mod.ts";
import { notFoundError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { operatorPageItemsMax, sessionsPerUserMax } from "../../domain/limits.ts";
import type { OperatorUser } from "../../domain/console/user.ts";
import { isoTime } from "../../domain/time.ts";
import type { SessionContext } from "../context.ts";
import { listIdentities } from "../people/mod.ts";
import { sessionBounds } from "../access/mod.ts";
import { toOperatorUser } from "./jobs/user_list.ts";

export async function* allUsers({ database }: SessionContext): AsyncGenerator<readonly OperatorUser[]> {
  for (let after = "";;) {
    const rows = await findUsers(database, { after, limit: operatorPageItemsMax });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(toOperatorUser);
    after = last.email;
  }
}

/** Returns a user with their sessions, last used first, and what else they sign in with. @throws {AppError} `not_found`. */
export async function getUser({ config, database, clock }: SessionContext, id: string) {
  const row = isId("usr", id) ? await findListedUser(database, id) : undefined;
  if (row === undefined) throw notFoundError();
  const [sessions, identities, { length: passkeys }] = await Promise.all([
    listSessionsOfUser(database, id, {
      bounds: sessionBounds(config, clock()),
      always: "",
      limit: sessionsPerUserMax,
    }),
    listIdentities({ database }, id),
    findUsablePasskeys(database, { userId: id, host: config.baseUrl.hostname }),
  ]);
  return {
    user: toOperatorUser(row),
    identities,
    passkeys,
    sessions: sessions.sort((a, b) => b.lastSeenAt - a.lastSeenAt).map((session) => ({
      ...session,
      createdAt: isoTime(session.createdAt),
      lastSeenAt: isoTime(session.lastSeenAt),
    })),
  };
}
