// A page of operators' list of users, read on the reports thread.
import {
  type ListedMemberships,
  type ListedUserRow,
  searchUsers,
  type UserQuery,
} from "../../../db/console/users.ts";
import type { OperatorUser } from "../../../domain/console/user.ts";
import { isoTime } from "../../../domain/time.ts";
import { invalidCursorError, type PageInput, readPage } from "../../pages.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

export type UserFilter = Pick<UserQuery, "search" | "status">;

/** Returns users, newest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function readUserPage(
  { database }: JobContext,
  { search, status, limit, cursor }: JobTime & UserFilter & PageInput,
): Promise<{ users: OperatorUser[]; nextCursor: string | null }> {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) throw invalidCursorError();
  const below = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
  const { rows, nextCursor } = await readPage(
    (limit) => searchUsers(database, { search, status, below, limit }),
    { limit, cursorOf: ({ number }) => String(number) },
  );
  return { users: rows.map(toOperatorUser), nextCursor };
}

export function toOperatorUser(row: ListedUserRow): OperatorUser {
  const { id, email, name, createdAt, emailVerifiedAt, disabledAt, hasTotp, lastSignInAt } = row;
  return {
    id,
    email,
    name,
    createdAt: isoTime(createdAt),
    emailVerifiedAt: isoTime(emailVerifiedAt),
    disabledAt: isoTime(disabledAt),
    isOperator: row.isOperator === 1,
    hasPassword: row.hasPassword === 1,
    twoStep: hasTotp === 1,
    lastSignInAt: isoTime(lastSignInAt),
    organizations: (JSON.parse(row.memberships) as ListedMemberships)
      .map(([id, name, role]) => ({ id, name, role }))
      .sort((a, b) => a.name.localeCompare(b.name, "en") || (a.id < b.id ? -1 : 1)),
  };
}
