// The types of gatehouse.js, served next to it.

/** A role in an organization, from least to most permissions. */
export type Role = "MEMBER" | "ADMIN" | "OWNER";

/** A user's membership in an organization. */
export interface Membership {
  readonly organizationId: string;
  readonly name: string;
  readonly role: Role;
}

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/** The session of a signed-in user. */
export interface SignedIn {
  readonly authenticated: true;
  readonly user: User;
  /** The active organization; null for a user without organizations. */
  readonly organizationId: string | null;
  /** The role in that organization. */
  readonly role: Role | null;
  readonly memberships: readonly Membership[];
  /** The features of the active organization's plan, sorted. */
  readonly features: readonly string[];
}

/** No user is signed in. */
export interface SignedOut {
  readonly authenticated: false;
  readonly user: null;
  readonly organizationId: null;
  readonly role: null;
  readonly memberships: readonly [];
}

/** The current user, if any. Check `authenticated`. */
export type SessionUser = SignedIn | SignedOut;

/**
 * An error response of the service. Network errors and origins that aren't allowed throw the `TypeError` of `fetch`. After 10
 * seconds without a response, requests throw a `DOMException` named `TimeoutError`.
 */
export class GatehouseError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The API's error code, such as `unauthenticated`, `not_found` or `unavailable`. */
  readonly code: string;
  /** Include it when you report a problem. */
  readonly requestId: string | null;
}

/** Returns the current user. Concurrent calls share one request. @throws {GatehouseError} */
export function me(): Promise<SessionUser>;

/**
 * Goes to the sign-in page and back afterwards; back immediately if a user is already signed in.
 *
 * @param options `returnTo`: the URL to return to, on an allowed origin; by default, this page. Over 2,000 characters, its query
 *   and hash are dropped.
 */
export function signIn(options?: { readonly returnTo?: string | URL }): void;

/**
 * Signs the user out of all products. The request is sent immediately. Responses to earlier requests don't restore the session.
 *
 * @throws {GatehouseError}
 */
export function signOut(): Promise<void>;

/**
 * Switches the active organization, in all products. Concurrent calls are sent in order, so the last one wins.
 *
 * @param id The id of one of the `memberships`.
 * @returns The user with the new organization and role.
 * @throws {GatehouseError} `not_found` for users who aren't members, `unauthenticated` without a session.
 */
export function switchOrganization(id: string): Promise<SignedIn>;

/**
 * Listens for changes of the current user: sign-in, sign-out, another organization, role or name, on this page, in another tab or
 * in another product. Checks when the page is shown or gets focus, one request at a time, and never while it is hidden.
 *
 * @param listener Called with the current user when it differs from the last result of {@linkcode me}.
 * @returns A function that stops listening.
 */
export function onChange(listener: (user: SessionUser) => void): () => void;
