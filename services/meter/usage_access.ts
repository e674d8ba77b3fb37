// Who may use the meter: API keys that work, and members whose role may read usage.
import { findActiveApiKey } from "../../db/api_keys.ts";
import { invalidApiKeyError } from "../../domain/errors.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { Context } from "../context.ts";
import { requireActiveOrganization } from "../organization/membership.ts";
import type { ReportScope } from "../reports/report_context.ts";

/** Who reads usage: an API key, given by its hash, or a session in its active organization. */
export type UsageReader = string | Session;

/** @returns Whether a key, given by its hash, works right now. */
export async function isActiveApiKey({ database, clock }: Context, keyHash: string): Promise<boolean> {
  return await findActiveApiKey(database, keyHash, clock()) !== undefined;
}

/** @returns The key with a hash. @throws {AppError} `invalid_api_key` when there is none that works. */
export async function requireApiKey({ database, clock }: Context, keyHash: string) {
  const key = await findActiveApiKey(database, keyHash, clock());
  if (key === undefined) throw invalidApiKeyError();
  return key;
}

/** @returns The organization whose usage is read. @throws {AppError} `invalid_api_key` or `forbidden`. */
export async function usageScope(context: Context, reader: UsageReader): Promise<ReportScope> {
  const { organizationId } = typeof reader === "string"
    ? await requireApiKey(context, reader)
    : requireActiveOrganization(reader, "usage.read");
  return { organizationId, now: context.clock() };
}
