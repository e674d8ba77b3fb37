// What roles are called, and what each may do, in a sentence.
import type { Role } from "../../domain/sign_in/session.ts";

/** The name of each role. */
export const roleWords: Readonly<Record<Role, string>> = {
  OWNER: "Owner",
  ADMIN: "Admin",
  MEMBER: "Member",
};

/** What each role may do, in one sentence. */
export const roleSentences: Readonly<Record<Role, string>> = {
  MEMBER: "Makes and revokes own API keys, and sees the organization’s usage and members.",
  ADMIN:
    "Like a member; also manages everybody’s keys, invites and removes members and admins, and reads the audit log.",
  OWNER: "Like an admin; also changes roles, and renames, hands over or deletes the organization.",
};

/** The same, said to whoever has the role. */
export const yourRoleSentences: Readonly<Record<Role, string>> = {
  MEMBER: "You make and revoke your own API keys, and see the organization’s usage and members.",
  ADMIN: "You manage everybody’s keys, invite and remove members and admins, and read the audit log.",
  OWNER: "You can do everything here: manage members and roles, and rename, hand over or delete it.",
};

/** @returns A role with its article: `an admin`. */
export function asRole(role: Role): string {
  return { OWNER: "an owner", ADMIN: "an admin", MEMBER: "a member" }[role];
}
