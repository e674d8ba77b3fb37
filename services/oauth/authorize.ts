// Decides what an authorization request needs, and issues its code.
import { findClient, type StoredClient } from "../../db/oauth/clients.ts";
import {
  deleteOldCodes,
  findConsentedScopes,
  findHasConsented,
  findWaitingRequest,
  insertCode,
  insertConsent,
  insertWaitingRequest,
} from "../../db/oauth/codes.ts";
import { findDomainProvider, findEnteredAt } from "../../db/access/mod.ts";
import type { SessionActor } from "../../domain/access/actor.ts";
import type { Membership, Session } from "../../domain/access/session.ts";
import { addressGroup } from "../../domain/address_group.ts";
import { AppError, unavailableError } from "../../domain/errors.ts";
import {
  type AuthorizeRequest,
  readAuthorizeRequest,
  responseAddress,
} from "../../domain/oauth/authorize_request.ts";
import { isDocumentId } from "../../domain/oauth/client_document.ts";
import { isNativeRedirect, permitsMember, permitsRedirect } from "../../domain/oauth/client.ts";
import { issuerFault } from "../../domain/oauth/issuer.ts";
import { codeMs, waitingRequestMs } from "../../domain/oauth/oauth_limits.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { hashToken, newToken } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { findTarget, type Target } from "./targets.ts";

/** A request of a known client with a redirect address that it registered. */
export interface ClientRequest {
  readonly client: StoredClient;
  readonly redirectUri: string;
  readonly state: string | null;
}

/** @throws {AppError} `malformed_request`, `unavailable` without https: for a page, never a redirect. */
export async function findClientRequest(
  { config, database }: Pick<Context, "config" | "database">,
  parameters: URLSearchParams,
): Promise<ClientRequest> {
  const fault = issuerFault(config.baseUrl);
  if (fault !== null) throw unavailableError(fault);
  const one = (name: string) => parameters.getAll(name).length === 1 ? parameters.get(name) : null;
  const client = await findClient(database, one("client_id") ?? "");
  if (client === undefined || !client.enabled) {
    throw new AppError("malformed_request", "The application that sent you here is unknown or disabled.");
  }
  const redirectUri = one("redirect_uri");
  if (redirectUri === null || !permitsRedirect(client, redirectUri)) {
    const message =
      `${client.name} sent you here with a return address (redirect_uri) that isn't registered for it.`;
    throw new AppError("malformed_request", message);
  }
  return { client, redirectUri, state: one("state") };
}

/** A request that was checked: what the person is asked to give. */
export interface CheckedRequest extends ClientRequest, Target {
  readonly request: AuthorizeRequest;
}

/** @throws {OAuthError} To be sent to the redirect address. */
export async function checkRequest(
  context: Pick<Context, "database">,
  from: ClientRequest,
  parameters: URLSearchParams,
): Promise<CheckedRequest> {
  const request = readAuthorizeRequest(parameters, from.client);
  return { ...from, request, ...await findTarget(context, from.client, request) };
}

/** A condition that is missing before a code is issued. */
export type Need =
  /** Signing in again, or confirming who it is. */
  | { readonly kind: "login" }
  /** The address isn't confirmed. */
  | { readonly kind: "email" }
  /** No organization may use the client. */
  | { readonly kind: "no_access" }
  | { readonly kind: "consent"; readonly organizations: readonly Membership[] }
  | { readonly kind: "choice"; readonly organizations: readonly Membership[] }
  /** Nothing: the code may be for this organization. */
  | { readonly kind: "nothing"; readonly organizationId: string | null };

/**
 * Tells what a request of a signed-in person needs.
 *
 * @param answer `askedAt`: when the request came first. `organizationId`: chosen on the consent page, null for none.
 */
export async function findNeed(
  context: SessionContext,
  session: Session,
  checked: CheckedRequest,
  answer: { readonly askedAt: number | null; readonly consent?: { readonly organizationId: string | null } },
): Promise<Need> {
  const { database, signingKeys } = context;
  const { client, request, redirectUri, resource, scopes } = checked;
  const { prompts, idTokenHint } = request;
  // The consent page was only shown to someone who had signed in as the request asks.
  if (answer.consent === undefined && !await isProved(context, session, request, answer)) {
    return { kind: "login" };
  }
  if (idTokenHint !== null) {
    const hint = await signingKeys.verifyIdToken(idTokenHint);
    if (hint?.aud !== client.id || hint.sub !== session.user.id) {
      throw new OAuthError("login_required", "The id_token_hint is of another person or client.");
    }
  }
  if (!session.user.emailVerified) return { kind: "email" };
  const permitted = session.memberships.filter((member) => permitsMember(client.access, member));
  const mayBeNone = session.memberships.length === 0 && client.access === "everyone";
  if (permitted.length === 0 && !mayBeNone) return { kind: "no_access" };
  const chosen = answer.consent?.organizationId;
  if (answer.consent !== undefined) {
    const isPermitted = chosen === null ? mayBeNone : permitted.some((one) => one.organizationId === chosen);
    return isPermitted ? { kind: "nothing", organizationId: chosen ?? null } : { kind: "no_access" };
  }
  const active = permitted.find((one) => one.organizationId === session.organization?.organizationId) ??
    (permitted.length === 1 ? permitted[0] : undefined);
  if (active === undefined && !mayBeNone) return { kind: "choice", organizations: permitted };
  const organizationId = active?.organizationId ?? null;
  const mustAsk = isNativeRedirect(redirectUri) || prompts.includes("consent") ||
    prompts.includes("select_account");
  const given = client.consent || mustAsk
    ? await findConsentedScopes(database, {
      userId: session.user.id,
      clientId: client.id,
      organizationId,
      resourceId: resource?.id ?? null,
    })
    : scopes;
  const isGiven = scopes.every((scope) => given.includes(scope));
  return mustAsk || !isGiven
    ? { kind: "consent", organizations: permitted }
    : { kind: "nothing", organizationId };
}

/**
 * True if the person entered something, here or at a provider that says when, as late as the request asks. A provider's word that they
 * are signed in there isn't enough.
 */
async function isProved(
  { database, clock }: Pick<SessionContext, "database" | "clock">,
  session: Session,
  { prompts, maxAgeMs }: AuthorizeRequest,
  { askedAt }: { readonly askedAt: number | null },
): Promise<boolean> {
  const asksAgain = prompts.includes("login");
  if (maxAgeMs === null && !asksAgain) return true;
  const since = askedAt ?? Infinity;
  const enteredAt = await findEnteredAt(database, session.id) ?? -Infinity;
  if (asksAgain && enteredAt <= since) return false;
  return maxAgeMs === null || enteredAt >= Math.min(clock() - maxAgeMs, since);
}

/** The error for a request that may not show a page. */
export function errorOfNeed({ kind }: Need): OAuthError {
  if (kind === "login") return new OAuthError("login_required", "The person has to sign in.");
  if (kind === "consent") return new OAuthError("consent_required", "The person has to consent.");
  return kind === "no_access"
    ? new OAuthError("access_denied", "The person may not use the client.")
    : new OAuthError("interaction_required", "The person has to answer a question.");
}

/**
 * Issues a code for a session, and returns the address to go on to.
 *
 * @param options `consented`: note the consent of the person, in the same transaction.
 * @throws {OAuthError} `temporarily_unavailable` with too many open codes; {AppError} `unauthenticated`.
 */
export async function issueCode(
  context: SessionContext,
  actor: SessionActor,
  { checked, organizationId, consented }: {
    checked: CheckedRequest;
    organizationId: string | null;
    consented: boolean;
  },
): Promise<string> {
  const { client, request, resource, redirectUri } = checked;
  const now = context.clock();
  const code = newToken();
  const key = {
    userId: actor.user.id,
    clientId: client.id,
    organizationId,
    resourceId: resource?.id ?? null,
  };
  const scopes = await withoutOffline(context, actor, checked)
    ? checked.scopes.filter((scope) => scope !== "offline_access")
    : checked.scopes;
  const results = await context.writeAs(actor, [
    ...(consented ? [insertConsent(key, { scopes: checked.scopes, now })] : []),
    insertCode({
      ...key,
      codeHash: hashToken(code),
      sessionId: actor.id,
      scopes,
      redirectUri,
      challenge: request.challenge,
      nonce: request.nonce,
      now,
      expiresAt: now + codeMs,
    }),
    deleteOldCodes(now),
  ]);
  if (results.at(-2)?.changes !== 1) {
    throw new OAuthError(
      "temporarily_unavailable",
      "Too many codes of this session are open, or the person has allowed too many applications.",
    );
  }
  return answerAddress(context, checked, { code });
}

/** True if the access must end with the session: nobody was asked, or the person's company requires its provider. */
async function withoutOffline(
  { database }: SessionContext,
  { user }: SessionActor,
  { client, scopes }: CheckedRequest,
): Promise<boolean> {
  if (!scopes.includes("offline_access")) return false;
  if (!client.consent || !client.grants.includes("refresh_token")) return true;
  return (await findDomainProvider(database, user.email))?.enforced === 1;
}

/** Returns the redirect address with a code or an error, the state, and who answers (RFC 9207). */
function answerAddress(
  { config }: Pick<Context, "config">,
  { redirectUri, state }: ClientRequest,
  answer: { readonly code: string } | OAuthError,
): string {
  const parameters = answer instanceof OAuthError
    ? { error: answer.code, error_description: answer.message }
    : { code: answer.code };
  return responseAddress(redirectUri, { ...parameters, state, iss: config.baseUrl.origin });
}

/**
 * Returns the redirect address with an error; null, for a page, if the client has a document and the person never allowed it anything.
 * Otherwise anyone could publish one to send people anywhere from here.
 */
export async function errorAddress(
  context: Pick<Context, "config" | "database">,
  from: ClientRequest,
  { error, userId }: { error: OAuthError; userId: string | undefined },
): Promise<string | null> {
  const isTrusted = await mayLeadOn(context, { clientId: from.client.id, userId });
  return isTrusted ? answerAddress(context, from, error) : null;
}

/** True if a client may send a person on to its addresses: operators added it, or the person has allowed it something. */
export async function mayLeadOn(
  { database }: Pick<SessionContext, "database">,
  { clientId, userId }: { clientId: string; userId: string | undefined },
): Promise<boolean> {
  return !isDocumentId(clientId) ||
    userId !== undefined && await findHasConsented(database, { userId, clientId });
}

/**
 * Keeps a request while its person signs in.
 *
 * @param from `browserToken`: only that browser can go on with it.
 * @returns Its id; null if too many of the address wait.
 */
export async function keepRequest(
  { database, clock }: Pick<Context, "database" | "clock">,
  query: string,
  from: { readonly browserToken: string; readonly address: string },
): Promise<string | null> {
  const now = clock();
  const id = newToken();
  const results = await database.write(insertWaitingRequest({
    tokenHash: hashToken(`${from.browserToken} ${id}`),
    query,
    address: addressGroup(from.address),
    now,
    expiresAt: now + waitingRequestMs,
  }));
  return results.at(-1)?.changes === 1 ? id : null;
}

/** Finds a kept request, with the time when it came; undefined after ten minutes and for other browsers. */
export async function findKeptRequest(
  { database, clock }: Pick<Context, "database" | "clock">,
  id: string,
  browserTokens: readonly string[],
): Promise<{ query: string; askedAt: number } | undefined> {
  for (const token of browserTokens.slice(0, 2)) {
    const found = await findWaitingRequest(database, hashToken(`${token} ${id}`), clock());
    if (found !== undefined) return { query: found.query, askedAt: found.expiresAt - waitingRequestMs };
  }
  return undefined;
}
