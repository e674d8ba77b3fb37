// Who may do what in an organization. Who acts is one of a few kinds; a verb asks here and nowhere else.
import type { Role, Session } from "./session.ts";

/** Who acts. */
export type Actor =
  | { readonly type: "session"; readonly session: Session }
  | { readonly type: "apiKey"; readonly fullKey: string };

/** Acts that depend on the role. */
export type Act =
  | "organization.read"
  | "apiKeys.createOwn"
  | "apiKeys.manageOwn"
  | "apiKeys.manageAll"
  | "usage.read";

const leastRole: Readonly<Record<Act, Role>> = {
  "organization.read": "MEMBER",
  "apiKeys.createOwn": "MEMBER",
  "apiKeys.manageOwn": "MEMBER",
  "apiKeys.manageAll": "ADMIN",
  "usage.read": "MEMBER",
};
const rank: Readonly<Record<Role, number>> = { MEMBER: 0, ADMIN: 1, OWNER: 2 };

/** @returns Whether a role is at least another one. */
export function isRoleAtLeast(role: Role, least: Role): boolean {
  return rank[role] >= rank[least];
}

/** @returns Whether a member with this role may do that. */
export function mayDo(role: Role, act: Act): boolean {
  return isRoleAtLeast(role, leastRole[act]);
}
