// The SQL of searches for webhooks, and for deliveries of an event. An owner has few endpoints.
import { isId } from "../../domain/id.ts";
import { type FoundDelivery, foundOfKindMax, type FoundWebhook } from "../../domain/search.ts";
import { type DatabaseReader, sql } from "../engine/database.ts";
import { hasText } from "../text_search.ts";
import { numberOf, type WebhookOwnerId } from "./webhooks.ts";

const columns = sql`w.id, w.url, w.description, o.id AS organizationId, o.name AS organizationName`;

/**
 * Finds endpoints of an owner by a part of their name or address, the newest first.
 *
 * @param organizationId Null for operators, who also find the endpoint of any organization by its id.
 */
export function findWebhooksByText(
  database: DatabaseReader,
  text: string,
  organizationId: WebhookOwnerId,
): Promise<FoundWebhook[]> {
  const owner = numberOf(organizationId);
  return database.read(sql`
    SELECT ${columns} FROM webhooks w LEFT JOIN organizations o ON o.number = w.organization
    WHERE w.number IN (
        SELECT number FROM webhooks WHERE id = ${text} AND (${organizationId} IS NULL OR organization = ${owner})
        UNION ALL
        SELECT number FROM webhooks WHERE organization = ${owner} AND deleted_at IS NULL
          AND (${hasText(sql`description`, text)} OR ${hasText(sql`url`, text)}))
      AND w.deleted_at IS NULL AND o.deleted_at IS NULL
    ORDER BY w.number DESC LIMIT ${foundOfKindMax}`);
}

/** Finds deliveries of the event with an id, to endpoints of an organization; for operators, to those of any. */
export async function findDeliveriesOfEvent(
  database: DatabaseReader,
  text: string,
  organizationId: WebhookOwnerId,
): Promise<FoundDelivery[]> {
  if (!isId("evt", text)) return [];
  const owners = organizationId === null ? sql`0, e.organization` : numberOf(organizationId);
  return await database.read(sql`
    SELECT ${columns}, d.id AS deliveryId, d.type
    FROM events e CROSS JOIN webhooks w ON w.organization IN (${owners}) AND w.deleted_at IS NULL
    CROSS JOIN webhook_deliveries d ON d.webhook = w.number AND d.event = e.seq
    LEFT JOIN organizations o ON o.number = w.organization
    WHERE e.id = ${text} AND o.deleted_at IS NULL ORDER BY d.number LIMIT ${foundOfKindMax}`);
}
