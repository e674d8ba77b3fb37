// Clients, as operators manage them: add, change, delete, and their secrets.
import { findClient, findRegisteredClients, type StoredClient } from "../../db/oauth/clients.ts";
import { endChanged, insertClient, updateClient } from "../../db/oauth/managed_clients.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import type { Client } from "../../domain/oauth/client.ts";
import {
  clientFaults,
  type ClientSettings,
  clientsMax,
  type ManagedClient,
} from "../../domain/oauth/client_settings.ts";
import { signInScopes } from "../../domain/oauth/scope_names.ts";
import { hashSecretToken } from "../../domain/secret_token.ts";
import { isoTime } from "../../domain/time.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { givenOf, newSecret, registeredEntry, removeRegistered, rotateSecret } from "./registered.ts";

/** With the secret that is never available again; null for a public client. */
export interface CreatedClient {
  readonly client: ManagedClient;
  readonly secret: string | null;
}

/** Settings to add or change. Omitted ones have their defaults, or keep their values. */
export type ClientChange = { readonly [Name in keyof ClientSettings]?: ClientSettings[Name] | undefined };

/** The settings of a new client that aren't given. */
export const newClientSettings: Omit<ClientSettings, "name"> = {
  grants: ["authorization_code", "refresh_token"],
  redirectUris: [],
  postLogoutRedirectUris: [],
  backchannelLogoutUri: null,
  access: "everyone",
  scopes: signInScopes,
  defaultResource: null,
  consent: true,
  idTokenAlgorithm: "RS256",
  requirePkce: true,
  groupNames: {},
};

const noun = "client";

const shown = ({ secretHash: _hash, ...client }: StoredClient): ManagedClient => client;

/** Lists all clients, the newest first, at most {@linkcode clientsMax}. */
export async function listClients({ database }: Pick<SessionContext, "database">): Promise<ManagedClient[]> {
  return (await findRegisteredClients(database)).map(shown);
}

/** @throws {AppError} `not_found`. */
export async function getClient(
  { database }: Pick<SessionContext, "database">,
  id: string,
): Promise<ManagedClient> {
  const found = isId("cli", id) ? await findClient(database, id) : undefined;
  if (found === undefined) throw notFoundError();
  return shown(found);
}

/** @throws {AppError} `secrets_key_missing`, `validation_failed`, `limit_reached`. */
export async function createClient(
  context: SessionContext,
  actor: OperatorActor,
  { type, ...given }: ClientChange & Pick<Client, "name" | "type">,
): Promise<CreatedClient> {
  requireSecretsKey(context);
  const now = context.clock();
  const client: ManagedClient = {
    ...changed({ ...newClientSettings, name: given.name }, given),
    id: newId("cli", now),
    type,
    enabled: true,
    createdAt: isoTime(now),
  };
  requireValid(client);
  const secret = type === "public" ? null : newSecret(context);
  const secretHash = secret && hashSecretToken(secret);
  const isCreated = await writeChange(context, actor, {
    statement: insertClient({ ...client, secretHash }, { max: clientsMax }),
    entry: registeredEntry({ ...client, noun }, "created"),
  });
  if (isCreated) return { client, secret };
  if ((await listClients(context)).length < clientsMax) throw unknownNamedError(client);
  throw new AppError("limit_reached", `There can be at most ${clientsMax} applications. Delete one first.`);
}

/** @throws {AppError} `secrets_key_missing`. */
export function requireSecretsKey({ config }: Pick<SessionContext, "config">): void {
  if (config.secretsKeys.length > 0) return;
  throw new AppError(
    "secrets_key_missing",
    "Set SECRETS_KEY and restart the server first. It encrypts the keys that sign ID tokens.",
  );
}

/**
 * Changes a client. Codes that it hasn't used end; access with a scope that it lost too.
 *
 * @throws {AppError} `not_found`, `validation_failed`; `unavailable` if someone else just changed it.
 */
export async function changeClient(
  context: SessionContext,
  actor: OperatorActor,
  { id, enabled, ...given }: ClientChange & { readonly id: string; readonly enabled?: boolean | undefined },
): Promise<ManagedClient> {
  const before = await getClient(context, id);
  const after = { ...changed(before, given), enabled: enabled ?? before.enabled };
  const differing = (Object.keys(after) as (keyof Client)[])
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (differing.length === 0) return before;
  requireValid(after);
  const lost = before.scopes.filter((scope) => !after.scopes.includes(scope));
  const isChanged = await writeChange(context, actor, {
    statement: updateClient(before, after, context.clock()),
    entry: { ...registeredEntry({ ...after, noun }, "changed"), details: { change: differing.join(", ") } },
    after: ({ audited }) => endChanged(id, lost, audited),
  });
  if (isChanged) return after;
  const now = await getClient(context, id);
  if (JSON.stringify(now) === JSON.stringify(before)) throw unknownNamedError(after);
  throw unavailableError("Someone else just changed this application. Try again.");
}

/** Replaces the secret, effective immediately. @throws {AppError} `not_found`, also for a public client. */
export async function rotateClientSecret(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<CreatedClient> {
  const client = await getClient(context, id);
  return { client, secret: await rotateSecret(context, actor, { ...client, noun }) };
}

/** Deletes a client, and ends everything that it was given. @throws {AppError} `not_found`. */
export async function deleteClient(context: SessionContext, actor: OperatorActor, id: string): Promise<void> {
  await removeRegistered(context, actor, { ...await getClient(context, id), noun });
}

function changed<Settings extends ClientSettings>(before: Settings, change: ClientChange): Settings {
  const after = { ...before, ...givenOf(change) };
  const unique = <Item>(items: readonly Item[]): readonly Item[] => [...new Set(items)];
  return {
    ...after,
    grants: unique(after.grants),
    scopes: unique(after.scopes),
    redirectUris: unique(after.redirectUris),
    postLogoutRedirectUris: unique(after.postLogoutRedirectUris),
    access: after.access === "everyone"
      ? "everyone"
      : { ...after.access, organizationIds: unique(after.access.organizationIds) },
  };
}

function requireValid(client: Client): void {
  const faults = clientFaults(client);
  if (faults.length > 0) throw validationError(faults);
}

function unknownNamedError({ access, defaultResource }: Client): AppError {
  return validationError([
    ...(access === "everyone" ? [] : [{
      path: "access.organizationIds",
      message: "must have ids of existing organizations.",
    }]),
    ...(defaultResource === null ? [] : [{
      path: "defaultResource",
      message: "must be the id of a resource that admits this client.",
    }]),
  ]);
}
