// Resources: create, change, delete, and their secrets. A secret leaves this file once and is never stored.
import {
  deleteResourceRow,
  endUnadmitted,
  findNamedResource,
  findResource,
  findResources,
  insertResource,
  type ResourceRow,
  type StoredResource,
  toResource,
  updateResource,
  updateResourceSecret,
} from "../../db/oauth/resources.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import {
  type Resource,
  resourceFaults,
  type ResourceInput,
  resourcesMax,
} from "../../domain/oauth/resource.ts";
import { comparedUri } from "../../domain/oauth/resource_uri.ts";
import { generateSecretToken, hashSecretToken } from "../../domain/secret_token.ts";
import { isoTime } from "../../domain/time.ts";
import { writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readIdPage } from "../pages.ts";

/** With the secret that is never available again. */
export interface NewResource {
  readonly resource: Resource;
  readonly secret: string;
}

const shown = ({ createdAt, ...resource }: StoredResource): Resource => ({
  ...resource,
  createdAt: isoTime(createdAt),
});

/** Lists resources, the newest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listResources(
  { database }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ resources: Resource[]; nextCursor: string | null }> {
  const { rows, nextCursor } = await readIdPage(
    (page) => findResources(database, page),
    { prefix: "res", limit, cursor },
  );
  return { resources: rows.map((row) => shown(toResource(row))), nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getResource({ database }: SessionContext, id: string): Promise<Resource> {
  const row = isId("res", id) ? await findResource(database, id) : undefined;
  if (row === undefined) throw notFoundError();
  return shown(toResource(row));
}

function rowOf(id: string, createdAt: number, input: ResourceInput): ResourceRow {
  const faults = resourceFaults(input);
  if (faults.length > 0) throw validationError(faults);
  const { uri, name, scopes, tokenFormat, clients } = input;
  return {
    id,
    uri,
    comparedUri: comparedUri(uri) ?? uri,
    name,
    scopes: JSON.stringify([...new Set(scopes)]),
    tokenFormat,
    clients: clients === "all" ? null : JSON.stringify([...new Set(clients)]),
    createdAt,
  };
}

const entryOf = (action: "created" | "changed" | "deleted" | "secret_rotated", { id, name }: Resource) =>
  ({ action: `resource.${action}`, organizationId: null, target: { id, name } }) as const;

const newSecret = (context: SessionContext) =>
  generateSecretToken(`${context.config.keyPrefix}_client_`).token;

/** @throws {AppError} `validation_failed`, `resource_taken`, `limit_reached`. */
export async function createResource(
  context: SessionContext,
  actor: OperatorActor,
  input: ResourceInput,
): Promise<NewResource> {
  const now = context.clock();
  const row = rowOf(newId("res", now), now, input);
  const resource = shown(toResource(row));
  const secret = newSecret(context);
  const isCreated = await writeChange(context, actor, {
    statement: insertResource({ ...row, secretHash: hashSecretToken(secret) }, { max: resourcesMax }),
    entry: entryOf("created", resource),
  });
  if (isCreated) return { resource, secret };
  throw await findNamedResource(context.database, { comparedUri: row.comparedUri }) === undefined
    ? new AppError("limit_reached", `There are ${resourcesMax} resources, which is the maximum.`)
    : takenError();
}

/** @throws {AppError} `not_found`, `validation_failed`, `resource_taken`. */
export async function changeResource(
  context: SessionContext,
  actor: OperatorActor,
  { id, changes }: {
    id: string;
    changes: { readonly [Field in keyof ResourceInput]?: ResourceInput[Field] | undefined };
  },
): Promise<Resource> {
  const before = await getResource(context, id);
  const {
    uri = before.uri,
    name = before.name,
    scopes = before.scopes,
    tokenFormat = before.tokenFormat,
    clients = before.clients,
  } = changes;
  const row = rowOf(id, Date.parse(before.createdAt), { uri, name, scopes, tokenFormat, clients });
  const resource = shown(toResource(row));
  const isChanged = await writeChange(context, actor, {
    statement: updateResource(row),
    entry: entryOf("changed", resource),
    after: ({ audited }) => endUnadmitted(id, before.scopes.filter((one) => !scopes.includes(one)), audited),
  });
  if (isChanged) return resource;
  await getResource(context, id);
  throw takenError();
}

/** Replaces the secret, effective immediately. @throws {AppError} `not_found`. */
export async function rotateResourceSecret(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<NewResource> {
  const resource = await getResource(context, id);
  const secret = newSecret(context);
  const isChanged = await writeChange(context, actor, {
    statement: updateResourceSecret(id, hashSecretToken(secret)),
    entry: entryOf("secret_rotated", resource),
  });
  if (!isChanged) throw notFoundError();
  return { resource, secret };
}

/** Deletes a resource, and ends all tokens for it. @throws {AppError} `not_found`. */
export async function deleteResource(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<void> {
  const resource = await getResource(context, id);
  const isDeleted = await writeChange(context, actor, {
    statement: deleteResourceRow(id),
    entry: entryOf("deleted", resource),
    after: ({ audited }) => endUnadmitted(id, [], audited),
  });
  if (!isDeleted) throw notFoundError();
}

const takenError = () => new AppError("resource_taken", "Another resource has this URI.");
