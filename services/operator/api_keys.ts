// API keys of any organization, for operators, who grant every permission.
import { findOrganizationOfApiKey } from "../../db/api_keys.ts";
import type { OperatorActor } from "../../domain/actor.ts";
import type { ApiKey } from "../../domain/api_key.ts";
import { notFoundError } from "../../domain/errors.ts";
import {
  type ApiKeyChange,
  type ApiKeyManager,
  endApiKey,
  readApiKey,
  readApiKeys,
  updateApiKeyOf,
} from "../api_keys.ts";
import type { SessionContext } from "../context.ts";
import { addApiKey, type ApiKeyInput, type CreatedApiKey } from "../new_api_keys.ts";
import type { PageInput } from "../pages.ts";
import { resolveOrganization } from "../access.ts";

/** Lists an organization's keys, newest first, including inactive ones. @throws {AppError} `not_found`, `validation_failed`. */
export async function listApiKeys(
  context: SessionContext,
  { idText, ...page }: PageInput & { readonly idText: string },
): Promise<{ apiKeys: ApiKey[]; nextCursor: string | null }> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  return await readApiKeys(context, { organizationId }, page);
}

/** @returns A key of an organization. @throws {AppError} `not_found`. */
export async function getApiKey(
  context: SessionContext,
  { idText, id }: { readonly idText: string; readonly id: string },
): Promise<ApiKey> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  return await readApiKey(context, { organizationId }, id);
}

/** Creates a key for an organization. @throws {AppError} `not_found`, `validation_failed`, `key_limit_reached`. */
export async function createApiKey(
  context: SessionContext,
  actor: OperatorActor,
  { idText, ...input }: ApiKeyInput & { readonly idText: string },
): Promise<CreatedApiKey> {
  const { id: organizationId } = await resolveOrganization(context, idText);
  return await addApiKey(context, { by: actor, scope: { organizationId } }, input);
}

/** Changes a key of any organization. @throws {AppError} `not_found`, `unavailable`, `validation_failed`. */
export async function changeApiKey(
  context: SessionContext,
  actor: OperatorActor,
  change: ApiKeyChange,
): Promise<ApiKey> {
  return await updateApiKeyOf(context, await managerOf(context, actor, change.id), change);
}

/** Revokes a key of any organization. Revoking it again changes nothing. @throws {AppError} `not_found`. */
export async function revokeApiKey(
  context: SessionContext,
  actor: OperatorActor,
  id: string,
): Promise<ApiKey> {
  return await endApiKey(context, await managerOf(context, actor, id), id);
}

async function managerOf(
  { database }: SessionContext,
  by: OperatorActor,
  id: string,
): Promise<ApiKeyManager> {
  const organizationId = await findOrganizationOfApiKey(database, id);
  if (organizationId === undefined) throw notFoundError();
  return { by, scope: { organizationId } };
}
