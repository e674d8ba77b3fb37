// Roles in words.
import type { Role } from "../../domain/access/session.ts";

export const roleWords: Readonly<Record<Role, string>> = { OWNER: "Owner", ADMIN: "Admin", MEMBER: "Member" };

export const roleSentences: Readonly<Record<Role, string>> = {
  MEMBER: "Creates and revokes their own API keys, and sees the organization's usage and members.",
  ADMIN:
    "Like a member. Also manages everyone's keys, invites and removes members and admins, and reads the audit log.",
  OWNER: "Like an admin. Also changes roles, and renames, transfers or deletes the organization.",
};

/** Addressed to the person with the role. */
export const yourRoleSentences: Readonly<Record<Role, string>> = {
  MEMBER: "You can create and revoke your own API keys, and see the organization's usage and members.",
  ADMIN: "You can manage everyone's keys, invite and remove members and admins, and read the audit log.",
  OWNER: "You can manage members and roles, and rename, transfer or delete the organization.",
};

/** Returns a role with its article: `an admin`. */
export function asRole(role: Role): string {
  return { OWNER: "an owner", ADMIN: "an admin", MEMBER: "a member" }[role];
}
