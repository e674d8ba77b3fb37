// Clients, as operators manage them: add, change, delete, and their secrets. A secret leaves this file once and is never stored.
import {
  deleteClientRow,
  endChanged,
  findClientRows,
  insertClient,
  selectClientRow,
  updateClient,
  updateClientSecret,
} from "../../db/oauth/managed_clients.ts";
import { type ClientRow, toClient } from "../../db/oauth/clients.ts";
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
import { generateSecretToken, hashSecretToken } from "../../domain/secret_token.ts";
import { isoTime } from "../../domain/time.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";

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

/** Lists all clients, the newest first, at most {@linkcode clientsMax}. */
export async function listClients({ database }: Pick<SessionContext, "database">): Promise<ManagedClient[]> {
  return (await findClientRows(database)).map(shown);
}

/** @throws {AppError} `not_found`. */
export async function getClient(
  context: Pick<SessionContext, "database">,
  id: string,
): Promise<ManagedClient> {
  return shown(await requireRow(context, id));
}

/** @throws {AppError} `secrets_key_missing`, `validation_failed`, `limit_reached`. */
export async function createClient(
  context: SessionContext,
  actor: OperatorActor,
  { type, ...given }: ClientChange & Pick<Client, "name" | "type">,
): Promise<CreatedClient> {
  requireSecretsKey(context);
  const now = context.clock();
  const client: Client = {
    ...changed({ ...newClientSettings, name: given.name }, given),
    id: newId("cli", now),
    type,
    enabled: true,
  };
  requireValid(client);
  const secret = type === "public" ? null : newSecret(context);
  const secretHash = secret && hashSecretToken(secret);
  const isCreated = await writeChange(context, actor, {
    statement: insertClient({ ...client, secretHash, createdAt: now }, { max: clientsMax }),
    entry: entryOf("created", client),
  });
  if (isCreated) return { client: { ...client, createdAt: isoTime(now) }, secret };
  if ((await findClientRows(context.database)).length < clientsMax) throw unknownNamedError(client);
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
  const row = await requireRow(context, id);
  const { createdAt, ...before } = shown(row);
  const after: Client = { ...changed(before, given), enabled: enabled ?? before.enabled };
  const differing = (Object.keys(after) as (keyof Client)[])
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (differing.length === 0) return { ...before, createdAt };
  requireValid(after);
  const lost = before.scopes.filter((scope) => !after.scopes.includes(scope));
  const isChanged = await writeChange(context, actor, {
    statement: updateClient(row, after, context.clock()),
    entry: { ...entryOf("changed", after), details: { change: differing.join(", ") } },
    after: ({ audited }) => endChanged(id, lost, audited),
  });
  if (isChanged) return { ...after, createdAt };
  const now = await requireRow(context, id);
  if (JSON.stringify(now) === JSON.stringify(row)) throw unknownNamedError(after);
  throw unavailableError("Someone else just changed this application. Try again.");
}

/** Replaces the secret, effective immediately. @throws {AppError} `not_found`, also for a public client. */
export async function rotateClientSecret(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<CreatedClient> {
  const client = await getClient(context, id);
  const secret = newSecret(context);
  const isChanged = await writeChange(context, actor, {
    statement: updateClientSecret(id, hashSecretToken(secret)),
    entry: entryOf("secret_rotated", client),
  });
  if (!isChanged) throw notFoundError();
  return { client, secret };
}

/** Deletes a client, and ends everything that it was given. @throws {AppError} `not_found`. */
export async function deleteClient(context: SessionContext, actor: OperatorActor, id: string): Promise<void> {
  const client = await getClient(context, id);
  const isDeleted = await writeChange(context, actor, {
    statement: deleteClientRow(id),
    entry: entryOf("deleted", client),
  });
  if (!isDeleted) throw notFoundError();
}

async function requireRow({ database }: Pick<SessionContext, "database">, id: string): Promise<ClientRow> {
  const row = isId("cli", id) ? await database.readFirst<ClientRow>(selectClientRow(id)) : undefined;
  if (row === undefined) throw notFoundError();
  return row;
}

function shown(row: ClientRow): ManagedClient {
  const { secretHash: _hash, ...client } = toClient(row);
  return { ...client, createdAt: isoTime(row.createdAt) };
}

function changed<Settings extends ClientSettings>(before: Settings, given: ClientChange): Settings {
  const after = {
    ...before,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  };
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

const entryOf = (
  act: "created" | "changed" | "deleted" | "secret_rotated",
  { id, name }: Pick<Client, "id" | "name">,
) => ({ action: `client.${act}`, organizationId: null, target: { id, name } }) as const;

const newSecret = ({ config }: SessionContext) => generateSecretToken(`${config.keyPrefix}_client_`).token;
