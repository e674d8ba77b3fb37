// Who acts. Every verb that changes something takes an actor, and the audit log has a row of it.
import type { Membership, Session, User } from "./sign_in/session.ts";

/** What is known of where an act comes from. */
export interface ClientInfo {
  /** The client's address, as the network or a trusted proxy says. */
  readonly address: string;
  readonly userAgent: string;
  /** Of the request behind the act; null on the command line. */
  readonly requestId: string | null;
  /** Of the session cookies that came along: signing in ends their sessions. */
  readonly sessionTokens?: readonly string[];
}

/** A signed-in person, and where this request of theirs comes from. */
export interface SessionActor extends Session {
  readonly type: "session";
  readonly client: ClientInfo;
}

/** A person who acts, as far as the audit log names them: a {@linkcode SessionActor}, or whoever becomes one. */
export interface PersonActor {
  readonly type: "session";
  readonly user: Pick<User, "id" | "name">;
  readonly organization: Pick<Membership, "organizationId"> | null;
  readonly client: ClientInfo;
}

/** Somebody who has not said who they are, or could not prove it. */
export interface AnonymousActor {
  readonly type: "anonymous";
  readonly client: ClientInfo;
}

/** Whoever runs the program, at its command line. */
export interface OperatorActor {
  readonly type: "operator";
  readonly client: ClientInfo;
}

/** The program itself. */
export interface SystemActor {
  readonly type: "system";
  readonly client: ClientInfo;
}

/** A program with an API key. */
export interface ApiKeyActor {
  readonly type: "apiKey";
  readonly id: string;
  readonly client: ClientInfo;
}

/** Anybody who can be in the audit log. */
export type Actor = PersonActor | AnonymousActor | OperatorActor | SystemActor | ApiKeyActor;
