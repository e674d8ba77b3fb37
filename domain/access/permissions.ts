// The permissions of roles in an organization. Every verb checks them here.
import { type Role, roles } from "./session.ts";

export type Permission =
  /** See the keys that they created; with `apiKeys.manageAll`, all keys. */
  | "apiKeys.read"
  | "apiKeys.createOwn"
  | "apiKeys.manageAll"
  | "usage.read"
  | "members.read"
  /** See invitations, and who has two-step sign-in. */
  | "memberDetails.read"
  /** Leave the organization. */
  | "members.leave"
  /** Invite and remove members and admins. */
  | "members.manage"
  /** Change roles, invite and remove owners. */
  | "owners.manage"
  /** Rename, delete, transfer. */
  | "organization.manage"
  | "audit.read"
  /** See webhook endpoints, events and deliveries. */
  | "webhooks.read"
  /** Create and change webhook endpoints, and send deliveries again. */
  | "webhooks.manage"
  /** Create and change alerts. */
  | "alerts.manage"
  /** See single sign-on and its domains. */
  | "sso.read"
  /** Set up, require and remove single sign-on. */
  | "sso.manage"
  /** Stop requiring single sign-on. */
  | "sso.stop";

const leastRole: Readonly<Record<Permission, Role>> = {
  "apiKeys.read": "MEMBER",
  "apiKeys.createOwn": "MEMBER",
  "apiKeys.manageAll": "ADMIN",
  "usage.read": "MEMBER",
  "members.read": "MEMBER",
  "memberDetails.read": "ADMIN",
  "members.leave": "MEMBER",
  "members.manage": "ADMIN",
  "owners.manage": "OWNER",
  "organization.manage": "OWNER",
  "audit.read": "ADMIN",
  "webhooks.read": "ADMIN",
  "webhooks.manage": "ADMIN",
  "alerts.manage": "ADMIN",
  "sso.read": "OWNER",
  "sso.manage": "OWNER",
  "sso.stop": "OWNER",
};

export function isRoleAtLeast(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}

export function hasPermission(role: Role, permission: Permission): boolean {
  return isRoleAtLeast(role, leastRole[permission]);
}

/** True if a permission only lets people read, which they may do in a suspended organization too. */
export function isReadPermission(permission: Permission): boolean {
  return permission.endsWith(".read");
}

export function rolesWith(permission: Permission): Role[] {
  return roles.filter((role) => hasPermission(role, permission));
}
