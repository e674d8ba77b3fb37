// Connects the identity of a visit to an account, and does the work of a sign-in other than creating a session. With two-step sign-in,
// nothing of this is done before the second step passes.
import {
  domainPermits,
  findIdentity,
  findProviders,
  hasAddress,
  type IdentityUse,
  ifAudited,
  insertAuditEvent,
  insertIdentity,
  providerMaySignIn,
  updateIdentityUsed,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import { mayEnter, type PendingIdentity } from "../../db/people/pending_sign_ins.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { newId } from "../../domain/id.ts";
import { identitiesPerUserMax } from "../../domain/people/provider_limits.ts";
import type { Context } from "../context.ts";
import { joinCompany } from "./company_membership.ts";
import type { IdentityVisit } from "./provider_visit.ts";
import { personOf } from "./sign_in.ts";

/**
 * Returns the statements that connect an identity to the account that has confirmed its address.
 *
 * @param options `condition`: another one, true by default.
 */
export function linkIdentity(
  { clock, mail }: Context,
  client: ClientInfo,
  { visit, user, condition: only = sql`true` }: {
    visit: IdentityVisit;
    user: UserCredentials;
    condition?: Statement;
  },
): Statement[] {
  const now = clock();
  const condition = sql`${only} AND ${hasAddress(visit.claims.email ?? "", { isConfirmed: true })} AND ${
    providerMaySignIn(useOf(visit))
  } AND ${domainPermits(sql`u.email`, { providerId: sql`${visit.provider.id}` })}`;
  const { insert, entry, fields } = addIdentity(visit, { userId: user.id, condition, now });
  const audit = insertAuditEvent(personOf(user, client), entry, { now });
  return [
    insert,
    audit.statement,
    ...mail.outgoing({ kind: "identity_linked", to: user.email, fields: { name: user.name, ...fields } }, {
      now,
      audited: audit.id,
    }),
  ];
}

/** Returns what adds the identity of a visit, with its audit entry and the fields of its email. */
export function addIdentity(
  { provider, claims }: IdentityVisit,
  { userId, condition, now }: { userId: string; condition: Statement; now: number },
) {
  const { issuer, subject, email } = claims;
  const id = newId("idn");
  return {
    insert: insertIdentity({ id, userId, issuer, subject, email, createdAt: now }, {
      condition,
      max: identitiesPerUserMax,
    }),
    entry: {
      action: "identity.linked",
      target: { id, name: email },
      details: { provider: provider.name },
    } as const,
    fields: { provider: provider.name, ...(email === null ? {} : { identity: email }) },
  };
}

export function useOf({ provider, claims }: IdentityVisit) {
  return { providerId: provider.id, issuer: claims.issuer };
}

/**
 * Returns what a sign-in does when its second step passes: it connects the identity, and makes its person a member.
 *
 * @param options `audited`: the entry of the second step.
 * @returns Null if the provider or the identity no longer signs the user in. `use` is also a condition of the session.
 * @throws {AppError} `organization_suspended`, `limit_reached`.
 */
export async function enterWithIdentity(
  context: Context,
  client: ClientInfo,
  { user, pending, audited, now }: {
    user: UserCredentials;
    pending: PendingIdentity;
    audited: string;
    now: number;
  },
): Promise<{ use: IdentityUse; statements: Statement[] } | null> {
  const { database } = context;
  const [provider] = await findProviders(database, sql`id = ${pending.providerId}`);
  const isNew = await findIdentity(database, pending) === undefined;
  if (provider === undefined || !await mayEnter(database, user.id, { ...pending, isNew })) return null;
  const visit = { provider, claims: pending };
  const condition = ifAudited(audited);
  const linking = isNew ? linkIdentity(context, client, { visit, user, condition }) : [];
  const joining = await joinCompany(context, client, { visit, user, condition });
  const used = updateIdentityUsed(pending, { email: pending.email, now, audited });
  return { use: pending, statements: [...linking, ...joining, used] };
}
