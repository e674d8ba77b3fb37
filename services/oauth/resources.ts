// Resources: create, change, delete, and their secrets.
import {
  endUnadmitted,
  findResource,
  findResources,
  hasUri,
  insertResource,
  updateResource,
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
import { hashSecretToken } from "../../domain/secret_token.ts";
import { isoTime } from "../../domain/time.ts";
import { type Change, writeChange } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readIdPage } from "../pages.ts";
import { givenOf, newSecret, registeredEntry, removeRegistered, rotateSecret } from "./registered.ts";

/** With the secret that is never available again. */
export interface NewResource {
  readonly resource: Resource;
  readonly secret: string;
}

const noun = "resource";

/** Lists resources, the newest first. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listResources(
  { database }: SessionContext,
  { limit, cursor }: PageInput,
): Promise<{ resources: Resource[]; nextCursor: string | null }> {
  const { rows, nextCursor } = await readIdPage(
    (page) => findResources(database, page),
    { prefix: "res", limit, cursor },
  );
  return { resources: rows, nextCursor };
}

/** @throws {AppError} `not_found`. */
export async function getResource({ database }: SessionContext, id: string): Promise<Resource> {
  const found = isId("res", id) ? await findResource(database, id) : undefined;
  if (found === undefined) throw notFoundError();
  return found;
}

/** Returns a resource with each scope and client once. */
function requireValid(resource: Resource): Resource {
  const faults = resourceFaults(resource);
  if (faults.length > 0) throw validationError(faults);
  const { scopes, clients } = resource;
  return {
    ...resource,
    scopes: [...new Set(scopes)],
    clients: clients === "all" ? clients : [...new Set(clients)],
  };
}

/** @throws {AppError} `validation_failed`, `resource_taken`, `limit_reached`. */
export async function createResource(
  context: SessionContext,
  actor: OperatorActor,
  input: ResourceInput,
): Promise<NewResource> {
  const now = context.clock();
  const resource = requireValid({ ...input, id: newId("res", now), createdAt: isoTime(now) });
  const secret = newSecret(context);
  const isCreated = await writeChange(context, actor, {
    statement: insertResource(resource, { secretHash: hashSecretToken(secret), max: resourcesMax }),
    entry: registeredEntry({ ...resource, noun }, "created"),
  });
  if (isCreated) return { resource, secret };
  throw await hasUri(context.database, resource.uri)
    ? takenError()
    : new AppError("limit_reached", `There are ${resourcesMax} resources, which is the maximum.`);
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
  const resource = requireValid({ ...before, ...givenOf(changes) });
  const lost = before.scopes.filter((scope) => !resource.scopes.includes(scope));
  const isChanged = await writeChange(context, actor, {
    statement: updateResource(resource),
    entry: registeredEntry({ ...resource, noun }, "changed"),
    after: ({ audited }) => endUnadmitted(id, lost, audited),
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
  return { resource, secret: await rotateSecret(context, actor, { ...resource, noun }) };
}

/** Deletes a resource, and ends all tokens for it. @throws {AppError} `not_found`. */
export async function deleteResource(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<void> {
  const after: Change["after"] = ({ audited }) => endUnadmitted(id, [], audited);
  await removeRegistered(context, actor, { ...await getResource(context, id), noun, after });
}

const takenError = () => new AppError("resource_taken", "Another resource has this URI.");
