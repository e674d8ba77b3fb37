// Visits to a provider: a browser is sent there with a state, and comes back with it once. The database holds only hashes of the state
// and of the browser's token; the other secrets of a visit are derived from both.
import { createHmac } from "node:crypto";
import type { UserCredentials } from "../../db/account/users.ts";
import { insertAuditEvent } from "../../db/audit.ts";
import type { Database } from "../../db/engine/database.ts";
import { findProviderBySlug, type StoredProvider } from "../../db/sign_in/identity_providers.ts";
import {
  insertProviderAttempt,
  type ProviderAttempt,
  takeProviderAttempt,
} from "../../db/sign_in/provider_attempts.ts";
import type { ClientInfo } from "../../domain/actor.ts";
import { AppError, notFoundError } from "../../domain/errors.ts";
import type { ProviderClaims, VisitPurpose } from "../../domain/sign_in/identity_provider.ts";
import { providerVisitTimeoutMs } from "../../domain/sign_in/provider_limits.ts";
import type { Context, SessionContext } from "../context.ts";
import { Secrets } from "../secrets.ts";
import { requireAllowed } from "./credentials.ts";
import { ProviderError, type VisitSecrets } from "./provider_client.ts";
import { hashToken, newToken, wellFormedHash } from "./session_tokens.ts";

interface NewVisit {
  readonly provider: StoredProvider;
  readonly purpose: VisitPurpose;
  /** A page of ours or of a product, checked by the caller. */
  readonly returnTo: string | null;
  /** Of an invitation's link, if the person came from its page. */
  readonly invitationToken?: string | undefined;
  /** The session of someone who confirms, links or tests. */
  readonly session?: { readonly id: string; readonly user: { readonly id: string } } | undefined;
  /** The cookies that the browser has from earlier visits. */
  readonly browserTokens: readonly string[];
  /** As the session, if there is one. */
  readonly write: Database["write"];
}

/** A visit that was completed, with what the provider says about the person. */
export interface ProviderVisit extends ProviderAttempt {
  readonly provider: StoredProvider;
  readonly claims: ProviderClaims;
}

/** @throws {AppError} `not_found`. */
export async function requireProvider(
  { database }: Pick<SessionContext, "database">,
  slug: string,
): Promise<StoredProvider> {
  const provider = await findProviderBySlug(database, slug);
  if (provider === undefined) throw notFoundError();
  return provider;
}

/**
 * Begins a visit. Visits of parallel tabs share the browser's token.
 *
 * @returns The address to redirect to, and the token for the browser's cookie.
 * @throws {AppError} `rate_limited`, `provider_unavailable`, `not_found`.
 */
export async function beginProviderVisit(
  context: SessionContext,
  client: ClientInfo,
  { provider, purpose, returnTo, invitationToken = "", session, browserTokens, write }: NewVisit,
): Promise<{ url: URL; browserToken: string }> {
  requireAllowed(context.rateLimits.providerVisits.take(client));
  const browserToken = browserTokens.find((token) => wellFormedHash(token) !== null) ?? newToken();
  const state = newToken();
  const stateHash = hashToken(state);
  const url = await context.providerClient
    .begin(provider, visitSecrets(browserToken, state), { again: purpose === "confirm" })
    .catch((error) => rejectVisit({ ...context, database: { write } }, client, { provider, error }));
  const [inserted] = await write([insertProviderAttempt({
    stateHash,
    browserHash: hashToken(browserToken),
    providerId: provider.id,
    purpose,
    userId: session?.user.id ?? null,
    sessionId: session?.id ?? null,
    returnTo: returnTo === null ? null : returnSeal(browserToken, state).seal(stateHash, returnTo),
    invitationHash: wellFormedHash(invitationToken),
    expiresAt: context.clock() + providerVisitTimeoutMs,
  })]);
  if (inserted?.changes !== 1) throw notFoundError();
  return { url, browserToken };
}

/**
 * Completes a visit. It is used up before the provider is asked, so that no answer counts twice.
 *
 * @param request `query`: of the request, as it came. `browserTokens`: its cookies.
 * @returns Null if this browser didn't begin the visit, or if it has expired or was used.
 * @throws {AppError} `provider_rejected`, `provider_unavailable`, `rate_limited`, `not_found`.
 */
export async function completeProviderVisit(
  context: Context,
  client: ClientInfo,
  { slug, query, browserTokens }: { slug: string; query: string; browserTokens: readonly string[] },
): Promise<ProviderVisit | null> {
  context.credentials.requireAddressBudget(client);
  const provider = await requireProvider(context, slug);
  const state = new URLSearchParams(query).get("state") ?? "";
  const stateHash = wellFormedHash(state) ?? "";
  const tokens = new Map(browserTokens.map((token) => [wellFormedHash(token) ?? "", token]));
  const [taken] = await context.database.write([takeProviderAttempt({
    stateHash,
    providerId: provider.id,
    browserHashes: [...tokens.keys()],
    now: context.clock(),
  })]);
  const attempt = taken?.rows[0] as ProviderAttempt & { browserHash: string } | undefined;
  if (attempt === undefined) {
    context.credentials.countAddressFailure(client);
    return null;
  }
  const { browserHash, returnTo, ...rest } = attempt;
  const browserToken = tokens.get(browserHash) ?? "";
  const claims = await context.providerClient
    .complete(provider, { ...visitSecrets(browserToken, state), query })
    .catch((error) => rejectVisit(context, client, { provider, error }));
  const opened = returnTo === null ? null : returnSeal(browserToken, state).open(stateHash, returnTo);
  return { ...rest, returnTo: opened, provider, claims };
}

function derived(browserToken: string, text: string) {
  return createHmac("sha256", browserToken).update(text);
}

function visitSecrets(browserToken: string, state: string): VisitSecrets {
  return {
    state,
    nonce: derived(browserToken, `nonce:${state}`).digest("base64url"),
    codeVerifier: derived(browserToken, `code_verifier:${state}`).digest("base64url"),
  };
}

/** The page to return to can contain a secret, such as the token of an invitation. */
function returnSeal(browserToken: string, state: string): Secrets {
  return new Secrets([derived(browserToken, `return_to:${state}`).digest()]);
}

type RefusalContext = Pick<Context, "credentials" | "clock"> & { readonly database: Pick<Database, "write"> };

async function rejectVisit(
  context: RefusalContext,
  client: ClientInfo,
  { provider, error }: { provider: StoredProvider; error: unknown },
): Promise<never> {
  const { name } = provider;
  if (!(error instanceof ProviderError)) throw error;
  const visit = { provider };
  if (error.fault === "canceled") {
    throw new AppError("provider_rejected", `You canceled signing in with ${name}.`);
  }
  if (error.fault === "rejected") {
    const message = `The response from ${name} couldn't be verified. Try again.`;
    throw await refuseVisit(context, client, { visit, reason: "invalid response", message, error });
  }
  throw await refuseVisit(context, client, {
    visit,
    reason: "provider unavailable",
    code: "provider_unavailable",
    message: `${name} isn't responding. Try again in a moment, or sign in another way.`,
    error,
  });
}

/** Counts and audits a denied sign-in, and returns its error. @throws {AppError} `rate_limited`. */
export async function refuseVisit(
  { credentials, database, clock }: RefusalContext,
  client: ClientInfo,
  { visit: { provider }, user = null, reason, code = "provider_rejected", message, error }: {
    visit: Pick<ProviderVisit, "provider">;
    user?: Pick<UserCredentials, "id" | "email" | "organizationId"> | null;
    reason: string;
    code?: "provider_rejected" | "provider_unavailable" | "identity_not_linked" | "sign_up_closed";
    message: string;
    error?: unknown;
  },
): Promise<AppError> {
  if (code !== "provider_unavailable") credentials.countAddressFailure(client);
  const { statement } = insertAuditEvent({ type: "anonymous", client }, {
    action: "session.refused",
    organizationId: user?.organizationId ?? provider.organizationId,
    ...(user === null ? {} : { target: { id: user.id, name: user.email } }),
    details: { provider: provider.name, reason },
  }, { now: clock(), always: true });
  await database.write([statement]);
  return new AppError(code, message, { cause: error });
}
