// Client ID metadata documents: applications that publish their settings at an https URL, which is their `client_id`.
import { nameCharactersMax } from "../limits.ts";
import { nameFault } from "../name.ts";
import { type Client, clientGrants, redirectFault } from "./client.ts";
import { clientFaults, redirectUrisMax } from "./client_settings.ts";
import { documentDefaultMs, documentMaxMs, documentMinMs } from "./oauth_limits.ts";
import { signInScopes } from "./scope_names.ts";

const urlCharactersMax = 500;
const keysMax = 20;

/** Of the assertions of clients with keys. */
export const assertionAlgorithms = ["RS256", "PS256", "ES256", "EdDSA"];

/** A document that was checked. */
export interface ClientDocument {
  readonly client: Client;
  /** A JWKS with the keys of its assertions. Null if they are at `keysUri`, or it has none. */
  readonly keys: string | null;
  readonly keysUri: string | null;
}

/** True for the `client_id` of a client with a document. Those of registered clients begin with `cli_`. */
export const isDocumentId = (clientId: string): boolean => clientId.startsWith("https://");

/** Returns the host of a document's URL, with a port unless it is 443; null if it can't be a `client_id`. */
export function documentHost(clientId: string): string | null {
  if (!isDocumentId(clientId) || clientId.length > urlCharactersMax || !URL.canParse(clientId)) return null;
  const { href, host, hash, username, password } = new URL(clientId);
  // Only the form that a parser gives: without dot segments, with a host in lower case and Punycode.
  return href === clientId && hash === "" && username === "" && password === "" ? host : null;
}

/** Returns a host of `OAUTH_CLIENT_HOSTS`, with a port unless it is 443, or `*`; or why it is invalid. */
export function parseClientHost(text: string): { readonly host: string } | string {
  if (text === "*") return { host: text };
  const host = URL.parse(`https://${text}`)?.host;
  return host === text.toLowerCase() && !host.includes("*") ? { host } : "not a host";
}

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** Checks a document. Returns what is wrong with it as the end of a sentence. @param id Its URL. */
export function readClientDocument(id: string, value: unknown): ClientDocument | string {
  if (!isObject(value)) return "isn't a JSON object";
  if (value["client_id"] !== id) return "names another client_id";
  if ("client_secret" in value || "client_secret_expires_at" in value) return "has a client secret";
  const lists = ["redirect_uris", "grant_types", "response_types", "post_logout_redirect_uris"] as const;
  for (const name of lists) {
    if (value[name] !== undefined && !isTexts(value[name])) return `has invalid ${name}`;
  }
  const list = (name: typeof lists[number]): readonly string[] => (value[name] as string[] | undefined) ?? [];
  const grants = value["grant_types"] === undefined ? [clientGrants[0]] : list("grant_types");
  const isForCodes = grants.includes("authorization_code") &&
    (value["response_types"] === undefined || list("response_types").includes("code"));
  if (!isForCodes) return "doesn't ask for authorization codes";
  const keys = readKeySource(id, value);
  if (typeof keys === "string") return keys;
  const client: Client = {
    id,
    name: nameOf(value["client_name"]) ?? new URL(id).host,
    type: value["token_endpoint_auth_method"] === "private_key_jwt" ? "confidential" : "public",
    enabled: true,
    // Never for devices: their person sees no host.
    grants: clientGrants.slice(0, 2).filter((grant) => grants.includes(grant)),
    redirectUris: [...new Set(list("redirect_uris"))],
    postLogoutRedirectUris: [...new Set(list("post_logout_redirect_uris"))],
    backchannelLogoutUri: sameHostUri(id, value["backchannel_logout_uri"]),
    access: "everyone",
    scopes: signInScopes,
    defaultResource: null,
    consent: true,
    idTokenAlgorithm: value["id_token_signed_response_alg"] === "ES256" ? "ES256" : "RS256",
    requirePkce: true,
    groupNames: {},
  };
  const uris = [...client.redirectUris, ...client.postLogoutRedirectUris];
  const isValid = uris.length <= 2 * redirectUrisMax && clientFaults(client).length === 0 &&
    // Any program on a device can take a scheme.
    uris.every((uri) => redirectFault(uri, "confidential") === null);
  return isValid ? { client, ...keys } : "has invalid redirect URIs";
}

function nameOf(value: unknown): string | null {
  const name = typeof value === "string" ? value.trim() : "";
  return name !== "" && [...name].length <= nameCharactersMax && nameFault(name) === null ? name : null;
}

/** Returns an https URL of the document's own host, or null. */
function sameHostUri(id: string, value: unknown): string | null {
  return typeof value === "string" && documentHost(value) === new URL(id).host ? value : null;
}

function readKeySource(id: string, value: Fields): Pick<ClientDocument, "keys" | "keysUri"> | string {
  const { jwks, jwks_uri: uri, token_endpoint_auth_method: method = "none" } = value;
  if (method === "none") return { keys: null, keysUri: null };
  if (method !== "private_key_jwt") return "must have the token_endpoint_auth_method none or private_key_jwt";
  if ((jwks === undefined) === (uri === undefined)) return "must have either jwks or jwks_uri";
  const keysUri = uri === undefined ? null : sameHostUri(id, uri);
  if (uri !== undefined && keysUri === null) return "has a jwks_uri on another host";
  const keys = uri === undefined ? readPublicKeys(jwks) : null;
  return uri === undefined && keys === null ? "has invalid jwks" : { keys, keysUri };
}

/** Returns a JWKS as JSON, or null if it has something other than public keys. */
export function readPublicKeys(value: unknown): string | null {
  const keys = isObject(value) ? value["keys"] : undefined;
  const isPublic = (key: unknown) => isObject(key) && !("d" in key) && !("k" in key) && key["kty"] !== "oct";
  return Array.isArray(keys) && keys.length <= keysMax && keys.every(isPublic)
    ? JSON.stringify({ keys })
    : null;
}

/** Returns for how long a document may be used without reading it again. @param headers Of its response. */
export function documentFreshMs(headers: Headers, now: number): number {
  const control = headers.get("cache-control") ?? "";
  const [, seconds] = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(control) ?? [];
  const expires = Date.parse(headers.get("expires") ?? "");
  const wanted = /no-store|no-cache/i.test(control)
    ? 0
    : seconds !== undefined
    ? Number(seconds) * 1_000
    : Number.isNaN(expires)
    ? documentDefaultMs
    : expires - now;
  return Math.min(Math.max(wanted, documentMinMs), documentMaxMs);
}
