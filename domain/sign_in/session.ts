// Who is signed in: the session, the user behind it and the organizations that they belong to.

/** What a member may do in an organization, from least to most. */
export const roles = ["MEMBER", "ADMIN", "OWNER"] as const;

/** One of {@linkcode roles}. */
export type Role = (typeof roles)[number];

/** A user's place in one organization. */
export interface Membership {
  readonly organizationId: string;
  /** The organization's name. */
  readonly name: string;
  readonly role: Role;
}

/** The user as other programs see them. */
export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/** A signed-in person, as found by their session's token. */
export interface Session {
  readonly id: string;
  readonly user: User;
  /** The active organization, or null when the user belongs to none. */
  readonly organization: Membership | null;
  readonly memberships: readonly Membership[];
  /** When this person last gave a password or used a passkey here, in milliseconds since 1970. */
  readonly authenticatedAt: number;
}

/** The answer of `GET /api/auth/me`. */
export interface SessionUser {
  readonly authenticated: boolean;
  readonly user: User | null;
  readonly organizationId: string | null;
  readonly role: Role | null;
  readonly memberships: readonly Membership[];
}

/**
 * Says who is signed in, in the form that leaves the program.
 *
 * @param session The session, or null for nobody.
 * @returns The body of `GET /api/auth/me`: "nobody" is an answer, not an error.
 */
export function sessionUser(session: Session | null): SessionUser {
  if (session === null) {
    return { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
  }
  return {
    authenticated: true,
    user: session.user,
    organizationId: session.organization?.organizationId ?? null,
    role: session.organization?.role ?? null,
    memberships: session.memberships,
  };
}
