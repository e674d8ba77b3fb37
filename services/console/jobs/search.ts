// The search of the portal and of the console.
import type { ApiKeyScope } from "../../../db/access/mod.ts";
import { findApiKeysByText, findOrganizationsByText, findUsersByText } from "../../../db/console/search.ts";
import type { Found } from "../../../domain/search.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

/** `scope`: the keys that a member sees, who finds nothing else; null for operators, who find everything. */
export async function search(
  { database, pause }: JobContext,
  { text, scope, now }: JobTime & { readonly text: string; readonly scope: ApiKeyScope | null },
): Promise<Found> {
  const apiKeys = await findApiKeysByText(database, text, { scope, now });
  if (scope !== null) return { organizations: [], apiKeys, users: [] };
  await pause();
  const organizations = await findOrganizationsByText(database, text);
  await pause();
  return { organizations, apiKeys, users: await findUsersByText(database, text) };
}
