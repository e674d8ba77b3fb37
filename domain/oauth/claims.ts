// Claims about a person, as applications get them in ID tokens and at userinfo.
import type { Role } from "../access/session.ts";
import type { ClientAccess } from "./client.ts";

/** The person of a grant, as they are now. */
export interface Subject {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
  /** The organization that the grant speaks for. */
  readonly organization: { readonly id: string; readonly name: string; readonly role: Role } | null;
  readonly memberships: readonly { readonly id: string; readonly role: Role }[];
  /** True for an operator whose session had a second step. */
  readonly isOperator: boolean;
}

/** Returns the claims for scopes. Groups of other organizations than `access` names, or the grant's own, are never in them. */
export function claimsOf(
  subject: Subject,
  { scopes, access, groupNames }: {
    readonly scopes: readonly string[];
    readonly access: ClientAccess;
    readonly groupNames: Readonly<Record<string, string>>;
  },
): Record<string, unknown> {
  const { userId, name, email, emailVerified, organization } = subject;
  const has = (scope: string) => scopes.includes(scope);
  return {
    sub: userId,
    ...(has("profile") ? { name, organization } : {}),
    ...(has("email") ? { email, email_verified: emailVerified } : {}),
    ...(has("groups")
      ? { groups: groupsOf(subject, access).map((group) => renamed(group, groupNames)) }
      : {}),
  };
}

function groupsOf({ memberships, organization, isOperator }: Subject, access: ClientAccess): string[] {
  const named = access === "everyone" ? [organization?.id] : access.organizationIds;
  const groups = memberships.filter(({ id }) => named.includes(id))
    .flatMap(({ id, role }) => [id, `${id}:${role}`]);
  return isOperator ? [...groups, "operator"] : groups;
}

const renamed = (group: string, names: Readonly<Record<string, string>>): string =>
  Object.hasOwn(names, group) ? names[group] ?? group : group;
