// Visits to a provider: a browser is sent there with a state, and returns with it once. The database holds only hashes of the state
// and of the browser's token; the other secrets of a visit are derived from both.
import { createHmac } from "node:crypto";
import {
  findOpenProvider,
  findProviderBySlug,
  insertAuditEvent,
  type StoredProvider,
  type UserCredentials,
} from "../../db/access/mod.ts";
import type { Database } from "../../db/engine/database.ts";
import {
  hasProviderAttempt,
  insertProviderAttempt,
  type ProviderAttempt,
  takeProviderAttempt,
} from "../../db/people/provider_attempts.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { AppError, notFoundError, unavailableError } from "../../domain/errors.ts";
import type { ProviderClaims, VisitPurpose } from "../../domain/people/identity_provider.ts";
import {
  providerPlacesMax,
  providerPlacesOfAllMax,
  providerPlacesWhenFewMax,
  providerVisitTimeoutMs,
} from "../../domain/people/provider_limits.ts";
import type { Context, SessionContext } from "../context.ts";
import { Secrets } from "../secrets.ts";
import { hashToken, newToken, requireAllowed, wellFormedHash } from "../access/mod.ts";
import { ProviderError, type VisitSecrets } from "./provider_client.ts";

interface NewVisit {
  readonly provider: StoredProvider;
  readonly purpose: VisitPurpose;
  /** A page of ours or of a product, checked by the caller. */
  readonly returnTo: string | null;
  /** The token of an invitation's link, if the person came from its page. */
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
  /** With the secret that the visit used. */
  readonly provider: StoredProvider;
  readonly claims: ProviderClaims;
}

/** The part of a visit that names someone. */
export interface IdentityVisit {
  readonly provider: StoredProvider;
  readonly claims: Pick<ProviderClaims, "issuer" | "subject" | "email">;
}

/** Names the provider of a visit, and the issuer that it had when it made its claims. */
export function useOf({ provider, claims }: IdentityVisit) {
  return { providerId: provider.id, issuer: claims.issuer };
}

/**
 * Finds the provider to visit. An organization's own can be visited once it has a verified domain: anyone can set one up, which leads
 * people wherever it likes.
 *
 * @param options `isForTest`: also one that only its owner's test may visit.
 * @throws {AppError} `not_found`.
 */
export async function requireProvider(
  { database }: Pick<SessionContext, "database">,
  slug: string,
  { isForTest = false } = {},
): Promise<StoredProvider> {
  const provider = await (isForTest ? findProviderBySlug : findOpenProvider)(database, slug);
  if (provider === undefined) throw notFoundError();
  return provider;
}

/**
 * Begins a visit. Visits of parallel tabs share the browser's token.
 *
 * @returns The address to redirect to, and the token for the browser's cookie.
 * @throws {AppError} `rate_limited`, `provider_unavailable`, `unavailable`, `not_found`.
 */
export async function beginProviderVisit(
  context: SessionContext,
  client: ClientInfo,
  { provider, purpose, returnTo, invitationToken = "", session, browserTokens, write }: NewVisit,
): Promise<{ url: URL; browserToken: string }> {
  const { providerVisits } = context.rateLimits;
  requireAllowed(
    session === undefined ? providerVisits.take(client) : providerVisits.takeForUser(session.user.id),
  );
  const browserToken = browserTokens.find((token) => wellFormedHash(token) !== null) ?? newToken();
  const state = newToken();
  const stateHash = hashToken(state);
  const again = purpose === "confirm";
  const url = await inPlace(
    context,
    provider,
    () =>
      context.providerClient.begin(visited(provider, purpose), visitSecrets(browserToken, state), { again }),
  )
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
 * Completes a visit. It is used up before the provider is asked, so that no answer counts twice, but not while the provider has no
 * place. A state that no visit has costs nothing: it has 256 bits, so no one guesses it, and any page can make a browser send one.
 *
 * @param request `query`: of the request, as it came. `browserTokens`: its cookies.
 * @returns Null if this browser didn't begin the visit, or if it has expired or was used.
 * @throws {AppError} `provider_rejected`, `provider_unavailable`, `unavailable`, `not_found`.
 */
export async function completeProviderVisit(
  context: Context,
  client: ClientInfo,
  { slug, query, browserTokens }: { slug: string; query: string; browserTokens: readonly string[] },
): Promise<ProviderVisit | null> {
  const provider = await requireProvider(context, slug, { isForTest: true });
  const state = new URLSearchParams(query).get("state") ?? "";
  const stateHash = wellFormedHash(state) ?? "";
  if (!await hasProviderAttempt(context.database, stateHash)) return null;
  const tokens = new Map(browserTokens.map((token) => [wellFormedHash(token) ?? "", token]));
  return await inPlace(context, provider, async () => {
    const [taken] = await context.database.write([takeProviderAttempt({
      stateHash,
      providerId: provider.id,
      browserHashes: [...tokens.keys()],
      now: context.clock(),
    })]);
    const attempt = taken?.rows[0] as ProviderAttempt & { browserHash: string } | undefined;
    if (attempt === undefined) return null;
    const { browserHash, returnTo, ...rest } = attempt;
    const browserToken = tokens.get(browserHash) ?? "";
    const used = visited(provider, rest.purpose);
    const claims = await context.providerClient
      .complete(used, { ...visitSecrets(browserToken, state), query })
      .catch((error) => rejectVisit(context, client, { provider, error }));
    const opened = returnTo === null ? null : returnSeal(browserToken, state).open(stateHash, returnTo);
    return { ...rest, returnTo: opened, provider: used, claims };
  });
}

/**
 * Runs requests to a provider in one of its places. Providers of the service don't share places with those of organizations, which
 * could hold them all.
 *
 * @throws {AppError} `unavailable` if there is no place.
 */
async function inPlace<T>(
  { rateLimits: { providerPlaces } }: Pick<SessionContext, "rateLimits">,
  { id, name, organizationId }: StoredProvider,
  run: () => Promise<T>,
): Promise<T> {
  const busyError = () =>
    unavailableError(`Too many people are signing in with ${name}. Try again in a moment.`);
  return await providerPlaces.during(
    organizationId === null ? "service" : "organizations",
    (left) => {
      const places = left < providerPlacesOfAllMax / 2 ? providerPlacesWhenFewMax : providerPlacesMax;
      return providerPlaces.during(id, run, busyError, places);
    },
    busyError,
    providerPlacesOfAllMax,
  );
}

/** Returns the provider as a visit uses it: a test tries the pending secret. */
function visited(provider: StoredProvider, purpose: VisitPurpose): StoredProvider {
  const { pendingSecret } = provider;
  return purpose === "test" && pendingSecret !== null
    ? { ...provider, clientSecret: pendingSecret }
    : provider;
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

type RefusalContext = Pick<Context, "credentials" | "clock" | "rateLimits"> & {
  readonly database: Pick<Database, "write">;
};

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
  const isUnreadable = error.fault === "unreadable";
  throw await refuseVisit(context, client, {
    visit,
    reason: isUnreadable ? "client secret can't be read" : "provider unavailable",
    code: "provider_unavailable",
    message: isUnreadable
      ? `Signing in with ${name} doesn't work until its client secret is entered again. Sign in another way.`
      : `${name} isn't responding. Try again in a moment, or sign in another way.`,
    error,
  });
}

/** A denied sign-in. `user`: the account that it is about. `reason`: for the audit log. */
export interface RefusedVisit {
  readonly user?: Pick<UserCredentials, "id" | "email" | "organizationId"> | null | undefined;
  readonly reason: string;
  readonly code?: "provider_rejected" | "provider_unavailable" | "identity_not_linked" | "sign_up_closed";
  readonly message: string;
}

/**
 * Audits a denied sign-in, and returns its error. Only what a person can make a provider say for them counts: which addresses have an
 * account. It counts apart from passwords and passkeys, with which people still get in when a provider is broken.
 *
 * @throws {AppError} `rate_limited`.
 */
export async function refuseVisit(
  { credentials, database, clock, rateLimits }: RefusalContext,
  client: ClientInfo,
  { visit: { provider, claims }, user, reason, code = "provider_rejected", message, error }: RefusedVisit & {
    visit: Pick<ProviderVisit, "provider"> & Partial<Pick<ProviderVisit, "claims">>;
    error?: unknown;
  },
): Promise<AppError> {
  const tellsOfAccounts = code === "identity_not_linked" || code === "sign_up_closed";
  if (tellsOfAccounts && claims?.vouches === false) {
    credentials.countAddressFailure(client, { kind: "provider " });
  }
  const refusal = new AppError(code, message, { cause: error });
  // While a provider is down, one entry a minute says so.
  const isDown = code === "provider_unavailable";
  if (isDown && !rateLimits.deniedEntries.take(provider.id).isAllowed) return refusal;
  const { statement } = insertAuditEvent({ type: "anonymous", client }, {
    action: "session.refused",
    organizationId: user?.organizationId ?? provider.organizationId,
    ...(user ? { target: { id: user.id, name: user.email } } : {}),
    details: { provider: provider.name, reason },
  }, { now: clock(), always: true });
  await database.write([statement]);
  return refusal;
}
