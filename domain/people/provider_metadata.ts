// The requirements for an issuer, and for a provider's discovery document, before people can sign in with it.
import { isLoopbackHost } from "../loopback.ts";
import type { ProviderKind } from "./identity_provider.ts";

export const issuerCharactersMax = 500;
/** Characters of an address that a discovery document names. */
export const endpointCharactersMax = 2_000;
export const clientIdCharactersMax = 500;
export const clientSecretCharactersMax = 2_000;
export const providerSlugCharactersMax = 32;
/** The form of a slug, which is part of the address that is registered at the provider. */
export const providerSlugForm = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
export const providerSlugWords =
  "1 to 32 lowercase letters, digits and hyphens, and begin and end without a hyphen";

export const providerKindNames: Readonly<Record<ProviderKind, string>> = {
  oidc: "OpenID Connect",
  google: "Google",
  microsoft: "Microsoft",
  github: "GitHub",
};

/** True for a client's id or secret of at most `charactersMax` (RFC 6749, appendix A). */
export function isRegisteredText(text: string, charactersMax: number): boolean {
  return text.length <= charactersMax && /^[\x20-\x7e]+$/.test(text);
}

/** The issuers of kinds that have one of their own. */
export const ownIssuers: Readonly<Partial<Record<ProviderKind, string>>> = {
  google: "https://accounts.google.com",
  github: "https://github.com",
};

const microsoftHost = "login.microsoftonline.com";
/** Names of many tenants, and the tenant of all personal accounts. */
const sharedTenants: ReadonlySet<string> = new Set(
  ["common", "organizations", "consumers", "9188040d-6c67-4c5b-b112-36a304b66dad"],
);
const microsoftForm = `https://${microsoftHost}/TENANT_ID/v2.0`;

/** Returns the end of a sentence about an issuer that can't be used, such as "must be …"; null for one that can. */
export function issuerFault(kind: ProviderKind, issuer: string): string | null {
  const url = URL.parse(issuer);
  const isWeb = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname));
  if (url === null || !isWeb || issuer.length > issuerCharactersMax || /[?#@\s]/.test(issuer)) {
    return "must be an https URL without user, query and fragment.";
  }
  const [, tenant = "", ...rest] = url.pathname.split("/");
  if (url.hostname === microsoftHost && sharedTenants.has(tenant.toLowerCase())) {
    return `must name a single tenant: ${microsoftForm}. In a shared one, anyone can claim any email address.`;
  }
  if (kind === "microsoft") {
    const isMicrosoft = url.hostname === microsoftHost || isLoopbackHost(url.hostname);
    const isTenant = isMicrosoft && tenant !== "" && rest.join("/") === "v2.0";
    return isTenant ? null : `must be ${microsoftForm}.`;
  }
  if (kind === "google" && issuer !== ownIssuers.google) return `must be ${ownIssuers.google}, or left out.`;
  // Its API is below the address of its pages.
  if (kind === "github" && issuer !== url.origin) {
    return "must be the address of GitHub Enterprise Server without a path, such as https://github.example.com.";
  }
  return null;
}

/** Names an organization's provider, by the host of its issuer. */
export function providerHost({ issuer }: { readonly issuer: string }): string {
  return URL.parse(issuer)?.host ?? issuer;
}

/** Returns the address to register at a provider, to which it sends people back. */
export function redirectUri(baseUrl: URL, slug: string): string {
  return new URL(`/sign-in/with/${slug}/callback`, baseUrl).href;
}

/** Returns the address of an issuer's discovery document (OpenID Connect Discovery 1.0, section 4). */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

/** Returns the root of GitHub's API. That of an Enterprise Server is below its own address. */
export function githubApiUrl(issuer: string): string {
  return issuer === ownIssuers.github ? "https://api.github.com/" : `${issuer}/api/v3/`;
}

/** Signatures of ID tokens that can be checked. They need no secret. */
export const signingAlgorithms: ReadonlySet<unknown> = new Set(
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
);
const clientAuthentications: ReadonlySet<unknown> = new Set(["client_secret_basic", "client_secret_post"]);

/**
 * Returns the end of a sentence about a discovery document that can't be used, such as "names no token_endpoint"; null for one that can.
 *
 * @param options `showsIssuer`: the sentence may contain the issuer in the document.
 */
export function metadataFault(
  document: unknown,
  { issuer, showsIssuer }: { issuer: string; showsIssuer: boolean },
): string | null {
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    return "isn't a JSON object";
  }
  const metadata = document as Readonly<Record<string, unknown>>;
  const named = metadata["issuer"];
  if (typeof named !== "string") return "names no issuer";
  if (named !== issuer) {
    return `names another issuer${showsIssuer ? `, “${named.slice(0, issuerCharactersMax)}”` : ""}. ` +
      "The issuer must be exactly the same";
  }
  for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri"]) {
    const url = URL.parse(String(metadata[name]));
    if (url?.protocol !== "https:" && !(url?.protocol === "http:" && isLoopbackHost(url.hostname))) {
      return `names no ${name} with an https URL`;
    }
  }
  const tooLong = Object.keys(metadata).find((name) =>
    /_(endpoint|uri)$/.test(name) && String(metadata[name]).length > endpointCharactersMax
  );
  if (tooLong !== undefined) return `names a ${tooLong} of more than ${endpointCharactersMax} characters`;
  const lacks = (name: string, accepted: ReadonlySet<unknown>) => {
    const values = metadata[name];
    return Array.isArray(values) && !values.some((value) => accepted.has(value));
  };
  if (lacks("response_types_supported", new Set(["code"]))) return "doesn't support the response type “code”";
  // Many providers support PKCE without saying so.
  if (lacks("code_challenge_methods_supported", new Set(["S256"]))) return "doesn't support PKCE with S256";
  if (lacks("id_token_signing_alg_values_supported", signingAlgorithms)) {
    return "signs ID tokens neither with RS256 nor with ES256";
  }
  if (lacks("token_endpoint_auth_methods_supported", clientAuthentications)) {
    return "accepts no client secret at its token endpoint";
  }
  return null;
}
