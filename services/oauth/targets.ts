// The resource and the scopes that a request of a client asks for.
import { findTargetResource, type StoredClient, type TargetResource } from "../../db/oauth/clients.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { comparedUri } from "../../domain/oauth/resource_uri.ts";
import { grantedScopes } from "../../domain/oauth/scope_names.ts";
import type { Context } from "../context.ts";

export interface Target {
  readonly resource: TargetResource | null;
  readonly scopes: readonly string[];
}

/** @throws {OAuthError} `invalid_target`, `invalid_scope`. */
export async function findTarget(
  { database }: Pick<Context, "database">,
  client: StoredClient,
  asked: { readonly resource: string | null; readonly scopes: readonly string[] },
): Promise<Target> {
  const { defaultResource } = client;
  const uri = asked.resource && comparedUri(asked.resource);
  const named = asked.resource === null
    ? defaultResource && { id: defaultResource }
    : uri && { comparedUri: uri };
  const resource = named ? await findTargetResource(database, client.id, named) : undefined;
  if (asked.resource !== null && resource === undefined) {
    throw new OAuthError("invalid_target", "The resource is unknown, or not open to this client.");
  }
  const known = { ofClient: client.scopes, ofResource: resource?.scopes ?? [] };
  const scopes = grantedScopes(asked.scopes, known);
  if (scopes.length === 0) {
    throw new OAuthError("invalid_scope", "No scope is left that the client may have.");
  }
  return { resource: resource ?? null, scopes };
}
