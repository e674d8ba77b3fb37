// Resources: APIs and MCP servers for which applications get tokens (RFC 8707).
import { comparedUri } from "./resource_uri.ts";
import { isValidScope } from "./scope_names.ts";

export type TokenFormat = "opaque" | "jwt";

/** A resource as operators see it, with times in ISO 8601 UTC. The secret isn't in it. */
export interface Resource {
  readonly id: string;
  readonly uri: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly tokenFormat: TokenFormat;
  /** The clients that may ask for its tokens, by id. */
  readonly clients: "all" | readonly string[];
  readonly createdAt: string;
}

export type ResourceInput = Omit<Resource, "id" | "createdAt">;

export const resourcesMax = 200;
export const resourceScopesMax = 50;
export const resourceClientsMax = 200;

/** Returns the problems of a resource, by field. */
export function resourceFaults(
  { uri, scopes, clients }: Pick<ResourceInput, "uri" | "scopes" | "clients">,
): { path: string; message: string }[] {
  const faults = [];
  if (comparedUri(uri) === null) {
    faults.push({ path: "uri", message: "must be an absolute https or http URI without a fragment." });
  }
  const wrong = scopes.findIndex((scope) => !isValidScope(scope));
  if (wrong !== -1) {
    faults.push({
      path: `scopes[${wrong}]`,
      message:
        "must have printable ASCII characters without spaces and quotation marks, and not be a scope of sign-in.",
    });
  }
  if (clients !== "all" && clients.some((id) => !/^cli_[0-9a-f]{32}$/.test(id))) {
    faults.push({ path: "clients", message: "must be “all” or a list of ids of clients." });
  }
  return faults;
}
