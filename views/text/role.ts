// What roles are called, and what each may do, in a sentence.
import type { Role } from "../../domain/session.ts";

/** The name of each role. */
export const roleWords: Readonly<Record<Role, string>> = {
  OWNER: "Owner",
  ADMIN: "Admin",
  MEMBER: "Member",
};

/** What each role may do, in one sentence. */
export const roleSentences: Readonly<Record<Role, string>> = {
  MEMBER: "Makes and revokes own API keys, and sees the organization’s usage and members.",
  ADMIN: "Also manages everybody’s keys, invites and removes members and admins, and reads the audit log.",
  OWNER: "Does everything: also changes roles, and renames, hands over or deletes the organization.",
};

/** @returns A role with its article: `an admin`. */
export function asRole(role: Role): string {
  return { OWNER: "an owner", ADMIN: "an admin", MEMBER: "a member" }[role];
}
