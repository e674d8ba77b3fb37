// Clients: applications that sign people in here, and the rules of their redirect addresses.
import { type Role, roles } from "../access/session.ts";

export type ClientType = "confidential" | "public";
export type IdTokenAlgorithm = "RS256" | "ES256";
export const clientGrants = [
  "authorization_code",
  "refresh_token",
  "urn:ietf:params:oauth:grant-type:device_code",
] as const;
export type ClientGrant = (typeof clientGrants)[number];

/** The people who may use a client: members of these organizations with at least this role, or everyone. */
export type ClientAccess = "everyone" | {
  readonly organizationIds: readonly string[];
  readonly minRole: Role;
};

/** A client, without its secret. */
export interface Client {
  readonly id: string;
  readonly name: string;
  readonly type: ClientType;
  readonly enabled: boolean;
  readonly grants: readonly ClientGrant[];
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly backchannelLogoutUri: string | null;
  readonly access: ClientAccess;
  /** The scopes of signing in that it may have. */
  readonly scopes: readonly string[];
  /** The id of a resource. */
  readonly defaultResource: string | null;
  /** False to skip the consent page, as for a company's own applications. */
  readonly consent: boolean;
  readonly idTokenAlgorithm: IdTokenAlgorithm;
  readonly requirePkce: boolean;
  readonly groupNames: Readonly<Record<string, string>>;
}

const uriCharactersMax = 1_000;

/**
 * Returns what is wrong with a redirect address, or null. It has https, is on this machine, or for a public client has a scheme
 * with a dot, such as `com.example.app:/callback` (RFC 8252, section 7.1).
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(redirectFault("https://app.example.com/callback", "confidential"), null);
 * assert.equal(redirectFault("http://127.0.0.1/callback", "public"), null);
 * assert.notEqual(redirectFault("https://app.example.com/#a", "public"), null);
 * assert.notEqual(redirectFault("com.example.app:/callback", "confidential"), null);
 * ```
 */
export function redirectFault(uri: string, type: ClientType): string | null {
  if (uri.length > uriCharactersMax || !/^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/.test(uri)) {
    return "must be a URI with at most 1,000 characters.";
  }
  if (uri.includes("#")) return "must not have a fragment.";
  if (!URL.canParse(uri)) return "must be an absolute URI.";
  const { protocol, username, password } = new URL(uri);
  if (username !== "" || password !== "") return "must not have a user or password.";
  if (protocol === "https:" || isLoopbackRedirect(uri)) return null;
  return type === "public" && protocol.includes(".")
    ? null
    : "must begin with https://, or be on this machine, or for a public client have a scheme such as com.example.app.";
}

/** Splits an address on this machine around its port (RFC 8252, section 7.3). */
const loopbackForm = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?([/?].*)?$/;

export const isLoopbackRedirect = (uri: string): boolean => loopbackForm.test(uri);

/** True for addresses of programs on the person's machine, which any other program there could use. */
export function isNativeRedirect(uri: string): boolean {
  return !uri.startsWith("https://");
}

/** True if the client registered this redirect address. It is compared exactly, except for the port on this machine. */
export function permitsRedirect(client: Pick<Client, "redirectUris">, uri: string): boolean {
  if (client.redirectUris.includes(uri)) return true;
  const given = withoutPort(uri);
  return given !== null && URL.canParse(uri) && client.redirectUris.some((own) => withoutPort(own) === given);
}

function withoutPort(uri: string): string | null {
  const [, start, rest = ""] = loopbackForm.exec(uri) ?? [];
  return start === undefined ? null : start + rest;
}

/** True if a member may use a client for an organization; null for people without one. */
export function permitsMember(
  access: ClientAccess,
  member: { readonly organizationId: string; readonly role: Role } | null,
): boolean {
  if (access === "everyone") return true;
  return member !== null && access.organizationIds.includes(member.organizationId) &&
    roles.indexOf(member.role) >= roles.indexOf(access.minRole);
}

/** Returns the host that people see for a redirect address, or its scheme. */
export function hostOfRedirect(uri: string): string {
  const { host, protocol } = new URL(uri);
  return host === "" ? protocol.slice(0, -1) : host;
}
