// Every account as the operator lists them, with one page in memory at a time.
import { findUsers, type ListedMemberships, type ListedUserRow } from "../../db/operator/users.ts";
import { operatorPageItemsMax } from "../../domain/limits.ts";
import { isoTime } from "../../domain/time.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import type { Context } from "../context.ts";

/** A user as the operator sees them; a line of `user list --json`. Times in ISO 8601 UTC. */
export interface OperatorUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: string;
  readonly emailVerifiedAt: string | null;
  readonly disabledAt: string | null;
  readonly twoStep: boolean;
  /** Of the sessions that are still signed in. */
  readonly lastSignInAt: string | null;
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
}

/** Lists every user by email address. @returns One page at a time. @throws {DatabaseError} */
export async function* listUsers({ database }: Context): AsyncGenerator<readonly OperatorUser[]> {
  for (let after = "";;) {
    const rows = await findUsers(database, { after, limit: operatorPageItemsMax });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map(toOperatorUser);
    after = last.email;
  }
}

function toOperatorUser({ hasTotp, memberships, ...row }: ListedUserRow): OperatorUser {
  const time = (ms: number | null) => ms === null ? null : isoTime(ms);
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    createdAt: isoTime(row.createdAt),
    emailVerifiedAt: time(row.emailVerifiedAt),
    disabledAt: time(row.disabledAt),
    twoStep: hasTotp === 1,
    lastSignInAt: time(row.lastSignInAt),
    organizations: (JSON.parse(memberships) as ListedMemberships)
      .map(([id, name, role]) => ({ id, name, role }))
      .sort((a, b) => a.name.localeCompare(b.name, "en") || (a.id < b.id ? -1 : 1)),
  };
}
