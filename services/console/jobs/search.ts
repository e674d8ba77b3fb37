// The search of the portal and of the console.
import type { ApiKeyScope } from "../../../db/access/mod.ts";
import {
  findApiKeysByText,
  findEntriesOfRequest,
  findMembersByText,
  findOrganizationsByText,
  findUsersByText,
} from "../../../db/console/search.ts";
import { findDeliveriesOfEvent, findWebhooksByText } from "../../../db/outbox/mod.ts";
import { type Found, nothingFound } from "../../../domain/search.ts";
import type { JobContext, JobTime } from "../../reports/job_context.ts";

interface SearchQuery {
  readonly text: string;
  /** The keys that a member sees; null for operators, who find everything. */
  readonly scope: ApiKeyScope | null;
  /** The parts of the organization that a member's role may read; null for operators. */
  readonly sees: Readonly<Record<"members" | "webhooks" | "audit", boolean>> | null;
}

/** Members find nothing outside of their organization. */
export async function search(
  { database, pause }: JobContext,
  { text, scope, sees, now }: JobTime & SearchQuery,
): Promise<Found> {
  const organizationId = scope?.organizationId ?? null;
  const apiKeys = await findApiKeysByText(database, text, { scope, now });
  await pause();
  const webhooks = sees?.webhooks === false ? [] : await findWebhooksByText(database, text, organizationId);
  const deliveries = sees?.webhooks === false
    ? []
    : await findDeliveriesOfEvent(database, text, organizationId);
  const entries = sees?.audit === false ? [] : await findEntriesOfRequest(database, text, organizationId);
  const found = { ...nothingFound, apiKeys, webhooks, deliveries, entries };
  await pause();
  if (organizationId !== null) {
    return {
      ...found,
      members: sees?.members ? await findMembersByText(database, text, organizationId) : [],
    };
  }
  const organizations = await findOrganizationsByText(database, text);
  await pause();
  return { ...found, organizations, users: await findUsersByText(database, text) };
}
