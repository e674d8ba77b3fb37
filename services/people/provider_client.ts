// The client of providers: OpenID Connect, and GitHub's OAuth. `openid-client` checks the responses, and is loaded when first needed.
import type { Configuration, CustomFetch, ServerMetadata } from "openid-client";
import type { StoredProvider } from "../../db/access/mod.ts";
import {
  githubClaims,
  openIdClaims,
  type ProviderClaims,
  type RawClaims,
} from "../../domain/people/identity_provider.ts";
import { githubApiUrl, metadataFault, signingAlgorithms } from "../../domain/people/provider_metadata.ts";
import {
  providerKeptMs,
  providerKeysAgainMs,
  providersKeptMax,
  providerTimeoutMs,
} from "../../domain/people/provider_limits.ts";
import type { BaseContext } from "../base_context.ts";
import { type AddressGuard, providerFetch, ProviderUnreachableError } from "../outbox/mod.ts";
import { type Secrets, SecretsError } from "../secrets.ts";

type Library = typeof import("openid-client");

/** Ties an answer to its request. All but the state are derived from what only the browser has. */
export interface VisitSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/**
 * `canceled`: by the person. `unavailable`: down or slow. `rejected`: it didn't give a valid answer. `unreadable`: our stored secret, after
 * `SECRETS_KEY` was lost.
 */
export type ProviderFault = "canceled" | "unavailable" | "rejected" | "unreadable";

/** The message is for the log: it contains no secret, but texts of the provider. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";

  constructor(readonly fault: ProviderFault, message: string) {
    super(message);
  }
}

interface ProviderClientParts extends Pick<BaseContext, "config" | "clock"> {
  readonly secrets: Secrets;
  readonly addressGuard: AddressGuard;
}

interface Metadata {
  readonly server: ServerMetadata;
  readonly readAt: number;
}

interface Keys {
  readonly jwks: { readonly keys: readonly object[] };
  readonly readAt: number;
}

/** A provider's metadata and keys, while its row stays the same. */
interface Known {
  readonly version: string;
  metadata: Metadata | null;
  reading: Promise<ServerMetadata> | null;
  keys: Keys | null;
}

const secondMs = 1_000;

/** Sends people to providers, and reads their identity when they return. Each thread has one. */
export class ProviderClient {
  readonly #parts: ProviderClientParts;
  readonly #timeoutMs: number;
  readonly #known = new Map<string, Known>();

  /** @param options `providerTimeoutMs`: of everything that a page waits for; 5 seconds, except in tests. */
  constructor(parts: ProviderClientParts, options: { readonly providerTimeoutMs?: number } = {}) {
    this.#parts = parts;
    this.#timeoutMs = options.providerTimeoutMs ?? providerTimeoutMs;
  }

  /**
   * Returns the address to send a person to.
   *
   * @param options `again`: the person must authenticate there even if they are signed in.
   * @throws {ProviderError}
   */
  begin(
    provider: StoredProvider,
    secrets: VisitSecrets,
    { again = false }: { again?: boolean } = {},
  ): Promise<URL> {
    return this.#withClient(provider, async (library, client) =>
      library.buildAuthorizationUrl(client, {
        redirect_uri: this.redirectUri(provider).href,
        scope: provider.kind === "github" ? "user:email" : "openid email profile",
        state: secrets.state,
        code_challenge: await library.calculatePKCECodeChallenge(secrets.codeVerifier),
        code_challenge_method: "S256",
        ...(provider.kind === "github" ? {} : { nonce: secrets.nonce }),
        ...(again ? askAgain[provider.kind] : {}),
      }));
  }

  /**
   * Exchanges the code of an answer, and checks everything about it.
   *
   * @param answer `query`: of the request that came back.
   * @throws {ProviderError}
   */
  complete(
    provider: StoredProvider,
    { query, state, nonce, codeVerifier }: VisitSecrets & { query: string },
  ): Promise<ProviderClaims> {
    const url = this.redirectUri(provider);
    url.search = query;
    // GitHub has no metadata that names its issuer. Its own redirect URI tells its answers apart.
    if (provider.kind === "github") url.searchParams.delete("iss");
    const checks = { expectedState: state, pkceCodeVerifier: codeVerifier };
    return this.#withClient(provider, async (library, client) => {
      const isGithub = provider.kind === "github";
      const tokens = await library.authorizationCodeGrant(
        client,
        url,
        isGithub ? checks : { ...checks, expectedNonce: nonce, idTokenExpected: true },
      );
      const claims = isGithub
        ? await githubUser(library, client, { issuer: provider.issuer, accessToken: tokens.access_token })
        : await openIdUser(library, client, {
          provider,
          accessToken: tokens.access_token,
          idToken: tokens.claims() as RawClaims | undefined ?? {},
        });
      if (claims === null) throw new ProviderError("rejected", "the response names no valid subject");
      return claims;
    });
  }

  /** The redirect URI, one for each provider, so that a response of another provider is recognized. */
  redirectUri({ slug }: Pick<StoredProvider, "slug">): URL {
    return new URL(`/sign-in/with/${slug}/callback`, this.#parts.config.baseUrl);
  }

  async #withClient<T>(
    provider: StoredProvider,
    use: (library: Library, client: Configuration) => Promise<T>,
  ): Promise<T> {
    const library = await import("openid-client");
    const deadline = AbortSignal.timeout(this.#timeoutMs);
    try {
      const known = this.#knownOf(provider);
      const isHttp = provider.issuer.startsWith("http:");
      const server = await this.#metadata(library, provider, { known, isHttp, deadline });
      const secret = this.#parts.secrets.open(provider.id, provider.clientSecret);
      const fetch = sendsOnce(this.#fetchOf(provider, deadline));
      const run = async (): Promise<T> => {
        const client = new library.Configuration(
          server,
          provider.clientId,
          undefined,
          takesSecretInBody(provider, server)
            ? library.ClientSecretPost(secret)
            : library.ClientSecretBasic(secret),
        );
        client[library.customFetch] = fetch;
        if (isHttp) library.allowInsecureRequests(client);
        library.enableNonRepudiationChecks(client);
        this.#lendKeys(library, client, known);
        try {
          return await use(library, client);
        } finally {
          this.#keepKeys(library, client, known);
        }
      };
      const { keys } = known;
      return await run().catch((error) => {
        if (!hasInvalidSignature(error) || !this.#forgetKeys(known, keys)) throw error;
        return run();
      });
    } catch (error) {
      throw toProviderError(library, error);
    }
  }

  #fetchOf({ organizationId }: StoredProvider, deadline?: AbortSignal): CustomFetch {
    const parts = { addressGuard: this.#parts.addressGuard, timeoutMs: this.#timeoutMs };
    const send = providerFetch(parts, { isGuarded: organizationId !== null });
    return (url, { method, headers, body }) => send(url, { method, headers, body, signal: deadline });
  }

  #knownOf({ id, issuer, organizationId, updatedAt }: StoredProvider): Known {
    const version = JSON.stringify([issuer, organizationId, updatedAt]);
    let known = this.#known.get(id);
    if (known?.version !== version) known = { version, metadata: null, reading: null, keys: null };
    // The least recently used one is the first.
    this.#known.delete(id);
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > providersKeptMax && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  /**
   * Visits that begin at the same time share a request, which has a deadline of its own. One that found a request in progress asks again
   * if that fails, as long as its own deadline has not passed.
   */
  async #metadata(
    library: Library,
    provider: StoredProvider,
    { known, isHttp, deadline }: { known: Known; isHttp: boolean; deadline: AbortSignal },
  ): Promise<ServerMetadata> {
    if (provider.kind === "github") return githubMetadata(provider.issuer);
    const now = this.#parts.clock();
    if (known.metadata !== null && isKept(known.metadata, now)) return known.metadata.server;
    const read = () =>
      withinDeadline(
        known.reading ??= discover(library, provider, { fetch: this.#fetchOf(provider), isHttp })
          .then((server) => {
            known.metadata = { server, readAt: now };
            return server;
          })
          .finally(() => known.reading = null),
        deadline,
      );
    if (known.reading === null) return await read();
    return await read().catch((error) => {
      if (deadline.aborted) throw error;
      return read();
    });
  }

  /** The library asks for keys again if it misses one, but only when those that it has are a minute old. */
  #lendKeys(library: Library, client: Configuration, { keys }: Known): void {
    if (keys === null || !isKept(keys, this.#parts.clock())) return;
    const minuteAgo = Math.floor(Date.now() / secondMs) - 60;
    library.setJwksCache(client, { jwks: keys.jwks, uat: minuteAgo } as never);
  }

  /**
   * Forgets keys with which a signature is invalid: providers may replace a key under the same ID, and don't need IDs if they have only
   * one (OpenID Connect Core, section 10.1).
   *
   * @param used Of the visit; others may have been read meanwhile. @returns False if they are too young to be read again.
   */
  #forgetKeys(known: Known, used: Keys | null): boolean {
    if (used === null || Math.abs(this.#parts.clock() - used.readAt) < providerKeysAgainMs) return false;
    if (known.keys === used) known.keys = null;
    return true;
  }

  #keepKeys(library: Library, client: Configuration, known: Known): void {
    const cache = library.getJwksCache(client);
    // The same keys that were lent stay as old as they are.
    if (cache === undefined || JSON.stringify(cache.jwks) === JSON.stringify(known.keys?.jwks)) return;
    known.keys = { jwks: cache.jwks as Keys["jwks"], readAt: this.#parts.clock() };
  }
}

/** Returns the first response to a POST for all later ones: a code can be exchanged once. */
function sendsOnce(fetch: CustomFetch): CustomFetch {
  let sent: Promise<Response> | undefined;
  return async (url, options) =>
    options.method === "POST" ? (await (sent ??= fetch(url, options))).clone() : await fetch(url, options);
}

/** True for an error of the library about a signature, which it gives as the cause of the cause. */
function hasInvalidSignature(error: unknown): boolean {
  const fault = error instanceof Error && error.cause instanceof Error ? error.cause.cause : null;
  return typeof fault === "object" && fault !== null && "signature" in fault;
}

/** Waits for a result at most until a deadline. @throws {ProviderUnreachableError} After it. */
function withinDeadline<T>(result: Promise<T>, deadline: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new ProviderUnreachableError("didn't respond in time"));
    deadline.addEventListener("abort", stop, { once: true });
    if (deadline.aborted) stop();
    result.then(resolve, reject).finally(() => deadline.removeEventListener("abort", stop));
  });
}

function isKept({ readAt }: { readonly readAt: number }, now: number): boolean {
  return Math.abs(now - readAt) < providerKeptMs;
}

/** Parameters that ask providers to authenticate someone again. Google and GitHub only let them choose the account. */
const askAgain = {
  oidc: { prompt: "login", max_age: "0" },
  microsoft: { prompt: "login", max_age: "0" },
  google: { prompt: "select_account" },
  github: { prompt: "select_account" },
} as const;

async function discover(
  library: Library,
  { issuer }: StoredProvider,
  { fetch, isHttp }: { fetch: CustomFetch; isHttp: boolean },
): Promise<ServerMetadata> {
  const client = await library.discovery(new URL(issuer), "discovery", undefined, undefined, {
    [library.customFetch]: fetch,
    execute: isHttp ? [library.allowInsecureRequests] : [],
  });
  const { supportsPKCE: _helper, ...server } = client.serverMetadata();
  // The library accepts any tenant of Microsoft, and every document whose URL is given as the issuer.
  const fault = metadataFault(server, { issuer, showsIssuer: true });
  if (fault !== null) throw new ProviderError("unavailable", `the discovery document ${fault}`);
  const algorithms = server.id_token_signing_alg_values_supported?.filter((name) =>
    signingAlgorithms.has(name)
  );
  return { ...server, ...(algorithms && { id_token_signing_alg_values_supported: algorithms }) };
}

/** OpenID Connect Discovery: without a list, providers take the secret in a header only. */
function takesSecretInBody({ kind }: StoredProvider, server: ServerMetadata): boolean {
  return kind === "github" ||
    server.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true;
}

/** Userinfo is asked only for an address that the ID token lacks. Then everything is read from there, as one statement. */
async function openIdUser(
  library: Library,
  client: Configuration,
  { provider, accessToken, idToken }: {
    provider: StoredProvider;
    accessToken: string;
    idToken: RawClaims;
  },
): Promise<ProviderClaims | null> {
  const { sub, email, auth_time, azp } = idToken;
  // OpenID Connect Core, section 3.1.3.7. The library checks it only among several audiences.
  if (azp !== undefined && azp !== provider.clientId) {
    throw new ProviderError("rejected", "the ID token is for another authorized party");
  }
  const hasUserinfo = client.serverMetadata().userinfo_endpoint !== undefined;
  if (email !== undefined || !hasUserinfo || typeof sub !== "string") return openIdClaims(provider, idToken);
  const userinfo = await library.fetchUserInfo(client, accessToken, sub);
  return openIdClaims(provider, { ...userinfo, sub, auth_time });
}

function githubMetadata(issuer: string): ServerMetadata {
  const base = `${issuer}/login/oauth`;
  return { issuer, authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/access_token` };
}

async function githubUser(
  library: Library,
  client: Configuration,
  { issuer, accessToken }: { issuer: string; accessToken: string },
): Promise<ProviderClaims | null> {
  const get = async (path: string) => {
    const headers = new Headers({ accept: "application/vnd.github+json", "user-agent": "Gatehouse" });
    const url = new URL(path, githubApiUrl(issuer));
    const response = await library.fetchProtectedResource(client, accessToken, url, "GET", null, headers);
    if (!response.ok) throw new ProviderError("unavailable", `${path} has the status ${response.status}`);
    return await response.json();
  };
  const [user, emails] = await Promise.all([get("user"), get("user/emails")]);
  return githubClaims(issuer, { user: Object(user), emails });
}

/** Errors of a provider that has trouble, by code of the library. */
const troubles: ReadonlySet<string> = new Set([
  "OAUTH_TIMEOUT",
  "OAUTH_ABORT",
  "OAUTH_RESPONSE_IS_NOT_CONFORM",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
]);
/** Errors of a provider that has trouble, in its own answer (RFC 6749, section 4.1.2.1). */
const ownTroubles: ReadonlySet<string> = new Set(["temporarily_unavailable", "server_error"]);

/** Causes are left out, because they contain tokens. */
function toProviderError(library: Library, error: unknown): unknown {
  if (error instanceof ProviderError) return error;
  if (error instanceof ProviderUnreachableError) return new ProviderError("unavailable", error.message);
  if (error instanceof SecretsError) return new ProviderError("unreadable", error.message);
  if (error instanceof library.AuthorizationResponseError || error instanceof library.ResponseBodyError) {
    const fault = error.error === "access_denied"
      ? "canceled"
      : ownTroubles.has(error.error)
      ? "unavailable"
      : "rejected";
    return new ProviderError(fault, `${error.error} ${error.error_description ?? ""}`.slice(0, 300).trim());
  }
  if (error instanceof library.WWWAuthenticateChallengeError) {
    return new ProviderError("rejected", error.message);
  }
  // The library throws them for invalid values in responses.
  if (error instanceof TypeError || error instanceof SyntaxError) {
    return new ProviderError("rejected", error.message.slice(0, 300));
  }
  if (!(error instanceof library.ClientError)) return error;
  if (error.cause instanceof ProviderUnreachableError) {
    return new ProviderError("unavailable", error.cause.message);
  }
  const detail = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  const fault = error.code !== undefined && troubles.has(error.code) ? "unavailable" : "rejected";
  return new ProviderError(fault, (error.message + detail).slice(0, 300));
}
