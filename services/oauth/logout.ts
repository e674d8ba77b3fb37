// Signing out from an application (OpenID Connect RP-Initiated Logout 1.0): what a request asks, and whether it needs a question.
import { findClient, type StoredClient } from "../../db/oauth/clients.ts";
import type { Session } from "../../domain/access/session.ts";
import { AppError } from "../../domain/errors.ts";
import type { SessionContext } from "../context.ts";
import { mayLeadOn } from "./authorize.ts";

export interface LogoutRequest {
  /** Null if the request names no client. */
  readonly client: StoredClient | null;
  /** Where the browser goes afterwards, with the state; null to stay, also if the person never allowed a client with a document anything. */
  readonly returnTo: string | null;
  /** The session that the hint is about; null without a hint. */
  readonly hint: { readonly sessionId: unknown; readonly userId: unknown } | null;
}

/**
 * Reads a request. An expired ID token is a hint, too, but only of the client that the request names.
 *
 * @throws {AppError} `malformed_request` for a hint that wasn't issued here, an unknown client, or an address that it hasn't
 *   registered.
 */
export async function readLogout(
  context: Pick<SessionContext, "database" | "signingKeys">,
  parameters: URLSearchParams,
  session: Session | null,
): Promise<LogoutRequest> {
  const { database, signingKeys } = context;
  const repeated = [...parameters.keys()].some((name) => parameters.getAll(name).length > 1);
  if (repeated) throw invalid("A parameter is repeated.");
  const hintText = parameters.get("id_token_hint") || null;
  const hint = hintText === null ? null : await signingKeys.verifyIdToken(hintText);
  if (hintText !== null && hint === null) {
    throw invalid("The application sent an ID token that wasn't issued here.");
  }
  const named = parameters.get("client_id") || null;
  if (hint !== null && named !== null && hint.aud !== named) {
    throw invalid("The ID token was issued to another application.");
  }
  const clientId = named ?? (typeof hint?.aud === "string" ? hint.aud : null);
  const client = clientId === null ? null : await findClient(database, clientId) ?? null;
  if (clientId !== null && client === null) throw invalid("The application is unknown.");
  const uri = parameters.get("post_logout_redirect_uri") || null;
  if (uri !== null && client?.postLogoutRedirectUris.includes(uri) !== true) {
    throw invalid("The address to return to isn't registered for the application.");
  }
  const request = { client, hint: hint && { sessionId: hint["sid"], userId: hint.sub } };
  const isTrusted = session !== null && isOfSession(request, session) ||
    client !== null && await mayLeadOn(context, { clientId: client.id, userId: session?.user.id });
  return {
    ...request,
    returnTo: uri === null || !isTrusted ? null : withState(uri, parameters.get("state")),
  };
}

/** True if the person needn't be asked: the hint proves that the application signed in with this session. */
export function isOfSession({ hint }: Pick<LogoutRequest, "hint">, { id, user }: Session): boolean {
  return hint !== null && hint.sessionId === id && hint.userId === user.id;
}

function withState(uri: string, state: string | null): string {
  if (state === null) return uri;
  return `${uri}${uri.includes("?") ? "&" : "?"}state=${encodeURIComponent(state)}`;
}

const invalid = (message: string) => new AppError("malformed_request", message);
