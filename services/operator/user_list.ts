// Every account, as the operator lists them: a page in memory at a time.
import type { Database } from "../../db/engine/database.ts";
import { type ListedMemberships, type ListedUserRow, listUsers } from "../../db/operator/users.ts";
import { operatorPageItemsMax } from "../../domain/limits.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { isoTime } from "../../domain/meter/usage_window.ts";

/** A user as the operator sees them; a line of `user list --json`. Times in ISO 8601 UTC. */
export interface OperatorUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: string;
  readonly emailVerifiedAt: string | null;
  readonly disabledAt: string | null;
  readonly twoStep: boolean;
  /** Of the sessions that were not signed out since. */
  readonly lastSignInAt: string | null;
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
}

/** @returns Every user by address, a page at a time. @throws {DatabaseError} */
export async function* listOperatorUsers(database: Database): AsyncGenerator<readonly OperatorUser[]> {
  for (let after = "";;) {
    const rows = await listUsers(database, { after, limit: operatorPageItemsMax });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(shown);
    after = last.email;
  }
}

function shown(row: ListedUserRow): OperatorUser {
  const time = (ms: number | null) => ms === null ? null : isoTime(ms);
  const memberships = JSON.parse(row.memberships) as ListedMemberships;
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    createdAt: isoTime(row.createdAt),
    emailVerifiedAt: time(row.emailVerifiedAt),
    disabledAt: time(row.disabledAt),
    twoStep: row.hasTotp === 1,
    lastSignInAt: time(row.lastSignInAt),
    organizations: memberships.map(([id, name, role]) => ({ id, name, role }))
      .sort((a, b) => a.name.localeCompare(b.name, "en") || (a.id < b.id ? -1 : 1)),
  };
}
