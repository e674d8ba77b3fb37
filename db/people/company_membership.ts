// SQL of joining an organization by signing in with its own provider.
import { membershipsPerUserMax } from "../../domain/limits.ts";
import type { CompanyRole } from "../../domain/people/company_sign_in.ts";
import type { IdentityProvider } from "../../domain/people/identity_provider.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { effectiveNumber, hasRoomForMember, isSuspended } from "../access/mod.ts";

/** A condition: the organization accepts members. */
export const isCompanyJoinable = (organizationId: string): Statement =>
  sql`EXISTS (SELECT 1 FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL
    AND NOT (${isSuspended}) AND ${hasRoomForMember})`;

/** Makes a user `u` a member if the condition holds, the organization accepts members, and they aren't in too many. */
export function insertCompanyMembership(
  { userId, organizationId, role, now }: {
    userId: string;
    organizationId: string;
    role: CompanyRole;
    now: number;
  },
  condition: Statement,
): Statement {
  return sql`
    INSERT INTO memberships (user_id, organization_id, role, created_at)
    SELECT u.id, ${organizationId}, ${role}, ${now} FROM users u
    WHERE u.id = ${userId} AND u.disabled_at IS NULL AND ${condition} AND ${isCompanyJoinable(organizationId)}
      AND (SELECT count(*) FROM memberships n WHERE n.user_id = u.id) < ${membershipsPerUserMax}
    ON CONFLICT (user_id, organization_id) DO NOTHING`;
}

export interface CompanyRoom extends Readonly<Record<"isMember" | "suspended" | "hasRoom", 0 | 1>> {
  readonly membersMax: number;
  /** Of the user, in all organizations. */
  readonly memberships: number;
}

/** Finds what can keep someone from joining the organization whose own provider it is; nothing for a provider of the service. */
export async function findCompanyRoom(
  database: DatabaseReader,
  { organizationId }: Pick<IdentityProvider, "organizationId">,
  userId: string,
): Promise<CompanyRoom | undefined> {
  if (organizationId === null) return undefined;
  return await database.readFirst(sql`
    SELECT EXISTS (SELECT 1 FROM memberships m WHERE m.organization_id = o.id AND m.user_id = ${userId}) AS isMember,
      ${isSuspended} AS suspended, ${hasRoomForMember} AS hasRoom, ${
    effectiveNumber("membersMax")
  } AS membersMax,
      (SELECT count(*) FROM memberships n WHERE n.user_id = ${userId}) AS memberships
    FROM organizations o WHERE o.id = ${organizationId} AND o.deleted_at IS NULL`);
}
