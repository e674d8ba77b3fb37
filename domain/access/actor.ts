// Actors. Every verb that changes something takes one and records it in the audit log.
import type { Permission } from "./permissions.ts";
import type { OperatorScope } from "./operator_scope.ts";
import type { Membership, Session, User } from "./session.ts";

export interface ClientInfo {
  /** The client's IP address, from the connection or a trusted proxy. */
  readonly address: string;
  /**
   * True for a private address that sends `X-Forwarded-For` without being a trusted proxy. Its clients can't be told apart, so
   * no limit by address applies.
   */
  readonly isUnknownProxy?: boolean;
  readonly userAgent: string;
  /** Null on the command line. */
  readonly requestId: string | null;
  /** The tokens of the request's session cookies. Signing in ends their sessions. */
  readonly sessionTokens?: readonly string[];
}

/** Copies the fields that are needed later: a request cannot be read after its response has been sent. */
export function clientCopy({ address, userAgent, requestId }: ClientInfo): ClientInfo {
  return { address, userAgent, requestId };
}

export interface SessionActor extends Session {
  readonly type: "session";
  readonly client: ClientInfo;
}

/** A user for the audit log: a {@linkcode SessionActor}, or someone who is signing in. */
export interface PersonActor {
  readonly type: "session";
  readonly user: Pick<User, "id" | "name">;
  readonly organization: Pick<Membership, "organizationId"> | null;
  readonly client: ClientInfo;
}

/** A signed-in account, a token that is used for one scope, or access to the machine. */
type OperatorCredential =
  | { readonly kind: "account"; readonly session: SessionActor }
  | { readonly kind: "token"; readonly id: string; readonly name: string; readonly scope: OperatorScope }
  | { readonly kind: "commandLine" };

export interface OperatorActor {
  readonly type: "operator";
  readonly client: ClientInfo;
  readonly credential: OperatorCredential;
  /** While they view an organization as customer: they see what its owners see, and nothing is written for them. */
  readonly isViewing?: true;
}

/** A customer of a product, signed in by the product. In the audit log, a session like those of people. */
export interface PortalSessionActor {
  readonly type: "portalSession";
  readonly client: ClientInfo;
  readonly id: string;
  /** Names the person and the operator token: `Ada via Acme`. */
  readonly name: string;
  readonly organizationId: string;
  /** They have no role: what their pages need. */
  readonly permissions: ReadonlySet<Permission>;
}

/** Returns the id and name of an operator's account or token; null on the command line. Customers never see them. */
export function operatorIdentity(
  { credential }: OperatorActor,
): { readonly id: string | null; readonly name: string | null } {
  if (credential.kind === "commandLine") return { id: null, name: null };
  return credential.kind === "token" ? credential : credential.session.user;
}

/** Anyone who can be in the audit log: also someone who is not signed in, the service itself, and a client with an API key. */
export type Actor =
  | PersonActor
  | OperatorActor
  | PortalSessionActor
  | { readonly type: "anonymous" | "system"; readonly client: ClientInfo }
  | { readonly type: "apiKey"; readonly id: string; readonly name?: string; readonly client: ClientInfo };
