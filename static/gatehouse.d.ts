// The types of gatehouse.js, served beside it.

/** What a member may do in an organization, from least to most. */
export type Role = "MEMBER" | "ADMIN" | "OWNER";

/** A person's place in one organization. */
export interface Membership {
  readonly organizationId: string;
  /** The organization's name. */
  readonly name: string;
  readonly role: Role;
}

/** A person. */
export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
}

/** Somebody who is signed in. */
export interface SignedIn {
  readonly authenticated: true;
  readonly user: User;
  /** The active organization, or null when the person belongs to none. */
  readonly organizationId: string | null;
  /** What they may do in it. */
  readonly role: Role | null;
  readonly memberships: readonly Membership[];
}

/** Nobody is signed in. */
export interface Nobody {
  readonly authenticated: false;
  readonly user: null;
  readonly organizationId: null;
  readonly role: null;
  readonly memberships: readonly [];
}

/** Who is signed in: check `authenticated`. */
export type SessionUser = SignedIn | Nobody;

/**
 * The service refused. A network that is down, and an origin that is not allowed, is the `TypeError` of `fetch`; no answer
 * within 10 seconds is a `DOMException` named `TimeoutError`.
 */
export class GatehouseError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The API's code, such as `unauthenticated`, `not_found` or `unavailable`. */
  readonly code: string;
  /** To send along when asking for help. */
  readonly requestId: string | null;
}

/**
 * Asks who is signed in. Calls at the same time share one request.
 *
 * @throws {GatehouseError}
 */
export function me(): Promise<SessionUser>;

/**
 * Goes to the sign-in page of the service, and back afterwards; at once when somebody is signed in already.
 *
 * @param options `returnTo`: where to go afterwards, on an allowed origin; this page unless given. Of more than 2,000
 *   characters the query and the hash are left out.
 */
export function signIn(options?: { readonly returnTo?: string | URL }): void;

/**
 * Ends the session, for every product. It is sent at once, and fulfilled when the service has ended it; no answer to what
 * was asked before signs anybody in again.
 *
 * @throws {GatehouseError}
 */
export function signOut(): Promise<void>;

/**
 * Makes another of the person's organizations the active one, for every product. Calls at the same time are sent one after
 * the other, so the last one counts.
 *
 * @param id Of one of the `memberships`.
 * @returns Who is signed in, with the new organization and role.
 * @throws {GatehouseError} `not_found` when they do not belong to it, `unauthenticated` when nobody is signed in.
 */
export function switchOrganization(id: string): Promise<SignedIn>;

/**
 * Listens for changes of who is signed in: a sign-in, sign-out, switch, new role or new name, here, in another tab or on
 * another product. It asks when the page is shown or gets the focus, one request at a time, and never while it is hidden.
 *
 * @param listener Called with who is signed in now, whenever that differs from the last answer of {@linkcode me}.
 * @returns A function that ends it.
 */
export function onChange(listener: (user: SessionUser) => void): () => void;
