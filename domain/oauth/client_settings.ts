// The rules of a client's settings, as operators give them.
import { type Client, redirectFault } from "./client.ts";

export const clientsMax = 200;
export const redirectUrisMax = 20;
export const clientOrganizationsMax = 100;
export const groupNamesMax = 100;

/** A client as operators see it, with times in ISO 8601 UTC. The secret isn't in it. */
export type ManagedClient = Client & { readonly createdAt: string };

/** The settings of a client. The type can't be changed, because a client has a secret or has none. */
export type ClientSettings = Omit<Client, "id" | "type" | "enabled">;

interface Fault {
  readonly path: string;
  readonly message: string;
}

/** Returns what is wrong with a client, by field. */
export function clientFaults(client: Omit<Client, "id" | "enabled">): Fault[] {
  const { type, grants, redirectUris, postLogoutRedirectUris, backchannelLogoutUri, requirePkce } = client;
  const faults: Fault[] = [];
  const ask = (path: string, message: string | null) => message !== null && faults.push({ path, message });
  redirectUris.forEach((uri, index) => ask(`redirectUris[${index}]`, redirectFault(uri, type)));
  postLogoutRedirectUris.forEach((uri, index) =>
    ask(`postLogoutRedirectUris[${index}]`, redirectFault(uri, type))
  );
  if (backchannelLogoutUri !== null) {
    ask("backchannelLogoutUri", redirectFault(backchannelLogoutUri, "confidential"));
  }
  if (grants.includes("authorization_code") && redirectUris.length === 0) {
    ask("redirectUris", "must have at least one address.");
  }
  if (!grants.some((grant) => grant !== "refresh_token")) {
    ask("grants", "must have authorization_code or the device grant.");
  }
  if (type === "public" && !requirePkce) ask("requirePkce", "must be true for a public client.");
  return faults;
}
