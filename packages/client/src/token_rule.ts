// The conditions of requireToken for a request: an access token of Gatehouse for this resource (RFC 6750, RFC 9728).
import { rejectUnknown } from "./errors.ts";
import type { Gatehouse, Introspection } from "./gatehouse.ts";
import { bearerToken } from "./key_rule.ts";
import { type Decision, failClosed, headerOf, type RequestView, requireValues } from "./middleware.ts";

/** Options of `requireToken`. */
export interface TokenOptions {
  readonly gatehouse: Gatehouse;
  /** The URI of the resource, as it is registered: the address of this server for its clients. */
  readonly uri: string | URL;
  /** The resource's id. */
  readonly id: string;
  /** The resource's secret. */
  readonly secret: string | undefined;
  /** All scopes of the resource, for its metadata. */
  readonly scopes?: readonly string[];
  /** Scopes that the token must have, all of them. */
  readonly scope?: string | readonly string[];
}

/** A person's access to this resource through an application. */
export interface VerifiedAccess {
  readonly userId: string;
  /** The application's id. */
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** The organization that the person acts for, with their role in it now. */
  readonly organization: { readonly id: string; readonly name: string; readonly role: string };
  readonly expiresAt: Date;
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** @throws {TypeError} For an unknown option, or one without a value. */
export function tokenRule(options: TokenOptions) {
  requireValues(options);
  const { gatehouse, uri, id, secret = "", scopes, scope = [], ...unknown } = options;
  rejectUnknown(unknown, "requireToken");
  if (secret === "") throw new TypeError("secret: has no value");
  const resource = new URL(uri);
  const metadataPath = wellKnown + (resource.pathname === "/" ? "" : resource.pathname);
  const required = [scope].flat();
  const asked = required.length > 0 ? required : scopes ?? [];
  /** Tells clients where to get a token, and with which scopes. */
  const challenge = (error: string | null) =>
    `Bearer ${
      [
        ...error === null ? [] : [`error="${error}"`],
        ...asked.length === 0 ? [] : [`scope="${asked.join(" ")}"`],
        `resource_metadata="${resource.origin}${metadataPath}"`,
      ].join(", ")
    }`;
  const rejected = (status: number, code: string, message: string, authenticate?: string) => ({
    denial: {
      status,
      headers: {
        "Content-Type": "application/json",
        ...authenticate !== undefined && { "WWW-Authenticate": authenticate },
      },
      // As MCP's transport wants it: without an id, because the body wasn't read.
      body: JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message, data: { code } }, id: null }),
    },
  });
  return {
    metadataPath,
    /** The document of RFC 9728. */
    metadata: JSON.stringify({
      resource: String(uri),
      authorization_servers: [gatehouse.url],
      ...scopes !== undefined && { scopes_supported: scopes },
      bearer_methods_supported: ["header"],
    }),
    decide: (view: RequestView): Promise<Decision<{ token: string; access: VerifiedAccess }>> =>
      failClosed(async () => {
        const token = bearerToken(headerOf(view, "authorization"));
        // A request without a token gets no error code (RFC 6750, section 3.1).
        if (token === undefined) return rejected(401, "unauthenticated", "Sign in first.", challenge(null));
        const found = await gatehouse.introspect(token, { id, secret });
        if (!found.active) {
          const message = "The access token is invalid, or the access has ended.";
          return rejected(401, "invalid_token", message, challenge("invalid_token"));
        }
        const access = accessOf(found);
        if (required.some((one) => !access.scopes.includes(one))) {
          const message = `This requires the scope ${required.join(" ")}.`;
          return rejected(403, "scope_missing", message, challenge("insufficient_scope"));
        }
        return access.organization === null
          ? rejected(403, "forbidden", "This requires an organization.")
          : { passed: { token, access: { ...access, organization: access.organization } }, headers: {} };
      }),
  };
}

const accessOf = (
  { sub, client_id, scope, organization, exp }: Introspection & { readonly active: true },
) => ({
  userId: sub,
  clientId: client_id,
  scopes: scope.split(" "),
  organization,
  expiresAt: new Date(exp * 1000),
});
