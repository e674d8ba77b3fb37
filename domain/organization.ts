// Organizations, their members and invitations, as members see them. Times are ISO 8601 UTC.
import type { Role } from "./access/session.ts";

export interface Organization {
  readonly id: string;
  readonly name: string;
  /** The viewer's role. */
  readonly role: Role;
  readonly memberCount: number;
  readonly createdAt: string;
}

export interface Member {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
  readonly role: Role;
  readonly joinedAt: string;
  /** True if two-step sign-in is on. Null for viewers who may not know whose account a password alone opens. */
  readonly twoStep: boolean | null;
  /** Active API keys that they created in the organization. */
  readonly activeApiKeys: number;
}

export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly status: "pending" | "accepted" | "revoked" | "expired";
  /** Null for an operator and for a deleted account. */
  readonly invitedBy: { readonly id: string; readonly name: string } | null;
  readonly invitedByOperator: boolean;
  readonly createdAt: string;
  /** The time when its latest email was requested. */
  readonly sentAt: string;
  readonly expiresAt: string;
  readonly acceptedAt: string | null;
}

/** Shown to the person who opens an invitation's link. */
export interface InvitationOffer {
  readonly organization: { readonly id: string; readonly name: string };
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string | null;
  /** True if the invited email address has an account. */
  readonly hasAccount: boolean;
}
