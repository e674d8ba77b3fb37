// Checks whether a provider can be reached and used, before it is stored and for `gatehouse check`.
import type { IdentityProvider } from "../../domain/people/identity_provider.ts";
import { discoveryUrl, githubApiUrl, metadataFault } from "../../domain/people/provider_metadata.ts";
import {
  type ProviderFetch,
  providerFetch,
  type ProviderFetchParts,
  ProviderUnreachableError,
} from "../outbox/mod.ts";

type CheckedProvider = Pick<IdentityProvider, "kind" | "issuer" | "organizationId">;

/**
 * Reads a provider's discovery document and its keys, or the root of GitHub's API.
 *
 * @returns A sentence without its period about what is wrong; null if people can sign in with the provider, as far as it says. About an
 *   organization's provider, it contains nothing of a response but its status.
 */
export async function findProviderFault(
  parts: ProviderFetchParts,
  provider: CheckedProvider,
): Promise<string | null> {
  const { kind, issuer, organizationId } = provider;
  const fetch = providerFetch(parts, { isGuarded: organizationId !== null });
  if (kind === "github") return await findGithubFault(fetch, githubApiUrl(issuer));
  const url = discoveryUrl(issuer);
  const discovery = await readJson(fetch, url);
  if ("fault" in discovery) return discovery.fault;
  const fault = metadataFault(discovery.json, { issuer, showsIssuer: organizationId === null });
  if (fault !== null) return `${url} ${fault}`;
  const { jwks_uri: keysUrl } = discovery.json as { jwks_uri: string };
  const found = await readJson(fetch, keysUrl);
  // An organization doesn't need the address to find its keys.
  if ("fault" in found) {
    return organizationId === null ? found.fault : `the keys that ${url} names can't be read`;
  }
  const { keys } = (found.json ?? {}) as { keys?: unknown };
  return Array.isArray(keys) && keys.length > 0 ? null : `${url} names a jwks_uri without keys`;
}

async function readJson(
  fetch: ProviderFetch,
  url: string,
): Promise<{ readonly json: unknown } | { readonly fault: string }> {
  const response = await send(fetch, url);
  if (typeof response === "string") return { fault: response };
  if (response.status !== 200) return { fault: `${url} returns the status ${response.status}` };
  try {
    return { json: await response.json() };
  } catch {
    return { fault: `${url} doesn't return JSON` };
  }
}

/** A server in private mode asks everyone for a token. */
const githubStatuses: ReadonlySet<number> = new Set([200, 401, 403]);

async function findGithubFault(fetch: ProviderFetch, url: string): Promise<string | null> {
  const response = await send(fetch, url);
  if (typeof response === "string") return response;
  return githubStatuses.has(response.status) ? null : `${url} returns the status ${response.status}`;
}

/** Returns the response, or a sentence without its period. */
async function send(fetch: ProviderFetch, url: string): Promise<Response | string> {
  try {
    return await fetch(url, { headers: { accept: "application/json" } });
  } catch (error) {
    if (error instanceof ProviderUnreachableError) return `${url} ${error.message}`;
    throw error;
  }
}
