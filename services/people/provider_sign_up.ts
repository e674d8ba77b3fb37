// The account of someone who signs up with a provider.
import {
  domainPermits,
  isFreeIdentity,
  providerIsBelieved,
  type UserCredentials,
} from "../../db/access/mod.ts";
import { sql, type Statement } from "../../db/engine/database.ts";
import { isCompanyJoinable } from "../../db/people/company_membership.ts";
import { insertUser, type NewUser } from "../../db/people/users.ts";
import type { ClientInfo, PersonActor } from "../../domain/access/actor.ts";
import { newId } from "../../domain/id.ts";
import { emailDomain } from "../../domain/outbox/email.ts";
import { newToken } from "../access/mod.ts";
import type { Context } from "../context.ts";
import { addIdentity } from "./provider_identity.ts";
import type { NewPerson } from "./provider_plan.ts";
import { type ProviderVisit, useOf } from "./provider_visit.ts";
import { accountWith, invitedAccount, newAccount } from "./sign_up.ts";

/** Someone to sign in. `before`: statements that must come first, and without which there is no session. */
export interface Entrant {
  readonly user: Pick<UserCredentials, "id" | "name" | "email" | "organizationId" | "hasTotp">;
  readonly before: readonly Statement[];
}

/** Returns an account to create and sign in, with its identity. @param options `sendsEmail`: asks to confirm the address. */
export async function newEntrant(
  context: Context,
  client: ClientInfo,
  { visit, plan: { email, invited, isConfirmed }, sendsEmail }: {
    visit: ProviderVisit;
    plan: NewPerson;
    sendsEmail: boolean;
  },
): Promise<Entrant> {
  const { credentials, mail } = context;
  // Wrong passwords take the same time as for anyone else.
  const passwordHash = await credentials.hasher.hash(newToken());
  const now = context.clock();
  const id = newId("usr");
  const { provider, claims } = visit;
  const { name } = claims;
  const organizationId = provider.organizationId ?? invited?.organizationId ?? newId("org");
  const emailVerifiedAt = isConfirmed ? now : null;
  const user = { id, email, emailVerifiedAt, name, passwordHash, hasPassword: false, now };
  const organization = invited === null && provider.organizationId === null ? null : { organizationId };
  const actor: PersonActor = { type: "session", user: { id, name }, organization, client };
  const permits = domainPermits(sql`${email}`, { providerId: sql`${provider.id}` });
  const condition = sql`${isFreeIdentity(claims)} AND ${permits}`;
  const account = provider.organizationId !== null
    ? companyAccount(actor, user, visit)
    : invited === null
    ? newAccount(actor, user, { id: organizationId, name: undefined, condition })
    : invitedAccount(actor, user, { ...invited, condition });
  const { audited, batch } = account;
  const confirmation = { kind: "verify_email", to: email, subject: id, fields: { name } } as const;
  const identity = addIdentity(visit, user, { condition: sql`true`, now });
  return {
    user: { id, name, email, organizationId, hasTotp: 0 },
    before: [
      ...Object.values(batch).flat(),
      ...(sendsEmail ? mail.outgoing(confirmation, { now, audited }) : []),
      identity.statement,
    ],
  };
}

/** Creates an account for someone who will join the organization whose own provider it is. They get none of their own. */
function companyAccount(actor: PersonActor, user: NewUser, visit: ProviderVisit) {
  const organizationId = visit.provider.organizationId ?? "";
  const isBelieved = providerIsBelieved(useOf(visit), emailDomain(user.email));
  const condition = sql`${isFreeIdentity(visit.claims)} AND ${isBelieved} AND ${
    isCompanyJoinable(organizationId)
  }`;
  return accountWith(actor, user, { organizationId, account: insertUser(user, condition) });
}
