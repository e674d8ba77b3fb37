// Who may do what in an organization. A verb asks here and nowhere else.
import { type Role, roles } from "./sign_in/session.ts";

/** Acts that depend on the role. */
export type Act =
  | "apiKeys.createOwn"
  | "apiKeys.manageAll"
  | "usage.read"
  | "members.read"
  /** Invite and remove MEMBERs and ADMINs, and see invitations. */
  | "members.manage"
  /** Change roles, invite and remove OWNERs. */
  | "owners.manage"
  /** Rename, delete, hand over. */
  | "organization.manage"
  | "audit.read";

const leastRole: Readonly<Record<Act, Role>> = {
  "apiKeys.createOwn": "MEMBER",
  "apiKeys.manageAll": "ADMIN",
  "usage.read": "MEMBER",
  "members.read": "MEMBER",
  "members.manage": "ADMIN",
  "owners.manage": "OWNER",
  "organization.manage": "OWNER",
  "audit.read": "ADMIN",
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

/** @returns The roles with which a member may do that. */
export function rolesThatMay(act: Act): Role[] {
  return roles.filter((role) => mayDo(role, act));
}
