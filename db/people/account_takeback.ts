// All SQL of taking an account back from someone who never owned its address.
import type { Actor } from "../../domain/access/actor.ts";
import { revokeApiKeysAfter, revokeApiKeysCreatedBy } from "../keys/mod.ts";
import {
  actorFacts,
  type Audited,
  deleteIdentities,
  ifAudited,
  insertAuditEvents,
  openInvitation,
} from "../access/mod.ts";
import { sql } from "../engine/database.ts";
import { deleteAlerts } from "../meter/mod.ts";
import { endCompanySignIn } from "./identity_providers.ts";
import { revokeInvitationsSentBy } from "./invitations.ts";
import { deletePasskeys } from "./passkeys.ts";
import { deleteRecoveryCodes } from "./recovery_codes.ts";
import { deleteProviderAttempts } from "./provider_attempts.ts";
import { deleteLinks, insertEvents, markWebhooksDeleted } from "../outbox/mod.ts";

/**
 * Ends everything that gave access before `actor`, the owner of the address, took the account back: links, second steps, passkeys,
 * identities, keys, invitations; and in the account's organizations the memberships of others, webhooks and alerts.
 */
export function endUnconfirmedAccess(actor: Actor, options: Audited & { userId: string }) {
  const { userId, audited } = options;
  return [
    ...deleteLinks(userId, { purposes: ["verify_email"], audited }),
    // An unfinished setup too, because the person who began it knows the secret.
    sql`DELETE FROM totp WHERE user_id = ${userId} AND ${ifAudited(audited)}`,
    deleteRecoveryCodes(userId, options),
    deletePasskeys(userId, options),
    deleteIdentities(userId, options),
    deleteProviderAttempts(userId, options),
    ...revokeApiKeysCreatedBy(userId, options),
    revokeInvitationsSentBy(userId, options),
    ...endOthersAccess(actor, options),
  ];
}

/**
 * Removes webhooks, alerts, single sign-on and all other members: an account with an unconfirmed address can't join an
 * organization, only create one. So they were invited by it, or by people it invited.
 */
function endOthersAccess(actor: Actor, options: Audited & { userId: string }) {
  const { userId, now, audited } = options;
  const ownIds = sql`SELECT m.organization_id FROM memberships m WHERE m.user_id = ${userId}`;
  const own = sql`organization_id IN (${ownIds}) AND ${ifAudited(audited)}`;
  const others = sql`
    SELECT organization_id AS organizationId, user_id AS targetId,
      (SELECT name FROM users WHERE id = user_id) AS targetName,
      json_object('role', role, 'keys', 'revoked') AS details
    FROM memberships WHERE user_id <> ${userId} AND ${own}`;
  const removed = sql`SELECT o.number AS organization, json_object(
      'target', json_object('id', m.targetId, 'name', m.targetName), 'details', json(m.details),
      'actor', json(${JSON.stringify(actorFacts(actor))})) AS facts
    FROM (${others}) m CROSS JOIN organizations o ON o.id = m.organizationId`;
  return [
    insertAuditEvents(actor, "member.removed", { now, rows: others }),
    insertEvents("member.removed", { at: now, rows: removed }),
    ...revokeApiKeysAfter(sql`k.organization_id IN (${ownIds})`, options),
    sql`UPDATE invitations AS i SET revoked_at = ${now} WHERE ${openInvitation} AND ${own}`,
    sql`DELETE FROM memberships WHERE user_id <> ${userId} AND ${own}`,
    markWebhooksDeleted(ownIds, options),
    deleteAlerts(ownIds, options),
    ...endCompanySignIn(ownIds, options),
    sql`UPDATE memberships SET role = 'OWNER' WHERE user_id = ${userId} AND ${ifAudited(audited)}`,
  ];
}
