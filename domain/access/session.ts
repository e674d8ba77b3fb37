// The session of a signed-in person, its user, and their organizations.
import type { Preferences } from "../presentation.ts";

/** The roles in an organization, from least to most permissions. */
export const roles = ["MEMBER", "ADMIN", "OWNER"] as const;
export type Role = (typeof roles)[number];

export interface Membership {
  readonly organizationId: string;
  readonly name: string;
  readonly role: Role;
  readonly suspended: boolean;
  /** The organization's time zone, an IANA name. */
  readonly timezone: string;
  /** Features of the organization's plan, sorted. */
  readonly features: readonly string[];
}

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

export interface Session {
  readonly id: string;
  readonly user: User;
  /** The active organization, or null if the user has none. */
  readonly organization: Membership | null;
  readonly memberships: readonly Membership[];
  /** The time of the last password, passkey or return from a provider here. */
  readonly authenticatedAt: number;
  /** The time of the last passkey or code here; null for never. */
  readonly secondFactorAt: number | null;
  readonly isOperator: boolean;
  readonly preferences: Preferences;
}

export function byOrganizationName(a: Membership, b: Membership): number {
  return a.name.localeCompare(b.name, "en") || (a.organizationId < b.organizationId ? -1 : 1);
}

/** The response of `GET /api/auth/me`. */
interface SessionUser {
  readonly authenticated: boolean;
  readonly user: User | null;
  readonly organizationId: string | null;
  readonly role: Role | null;
  readonly memberships: readonly Omit<Membership, "suspended" | "timezone" | "features">[];
  /** Features of the active organization's plan. Only with a session. */
  readonly features?: readonly string[];
}

export function sessionUser(session: Session | null): SessionUser {
  if (session === null) {
    return { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
  }
  return {
    authenticated: true,
    user: session.user,
    organizationId: session.organization?.organizationId ?? null,
    role: session.organization?.role ?? null,
    memberships: session.memberships.map(({ organizationId, name, role }) => ({
      organizationId,
      name,
      role,
    })),
    features: session.organization?.features ?? [],
  };
}
