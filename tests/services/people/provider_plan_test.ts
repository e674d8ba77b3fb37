// What is decided about a completed visit to a provider, for each combination of facts that matters.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { type BrowserVisit, planSignIn, type VisitFacts } from "../../../services/people/provider_plan.ts";

const email = "ada@example.com";
const user = {
  id: "usr_1",
  name: "Ada",
  email,
  emailVerifiedAt: 1 as number | null,
  passwordHash: "",
  hasPassword: 1,
  disabledAt: null as number | null,
  organizationId: null,
  hasTotp: 0,
};
const unconfirmed = { ...user, emailVerifiedAt: null };
const disabled = { ...user, disabledAt: 1 };
const nothing: VisitFacts = {
  user: undefined,
  isConnected: false,
  email,
  ofDomain: undefined,
  isBelieved: true,
  room: undefined,
  followed: undefined,
  invitation: undefined,
};
const invitation = { id: "inv_1", organizationId: "org_1", email, role: "MEMBER" } as NonNullable<
  VisitFacts["invitation"]
>;
const followed = { ...invitation, hasAccount: 0, suspended: 0, hasRoom: 1, membersMax: 2 } as const;
const room = { isMember: 0, suspended: 0, hasRoom: 1, membersMax: 2, memberships: 0 } as const;
const ofDomain = { id: "idp_2", slug: "sso", name: "Acme", enforced: 1 } as const;

interface Case {
  readonly facts: Partial<VisitFacts>;
  readonly vouches?: boolean;
  readonly signUp?: "open" | "invite" | "closed";
  readonly ofCompany?: boolean;
  readonly invitationHash?: string;
  readonly signedInAs?: { id: string; email: string };
}

/** @returns The act with its reason, its invitation or its code. */
function outcome({ facts, vouches = true, signUp = "open", ofCompany = false, ...more }: Case): string {
  const visit = {
    provider: { id: "idp_1", name: "Okta", organizationId: ofCompany ? "org_1" : null, signUp: true },
    claims: { issuer: "https://a.example", subject: "ada", email, vouches },
    ...{ invitationHash: null, signedInAs: null },
    ...more,
  } as unknown as BrowserVisit;
  try {
    const config = { signUp, baseUrl: new URL("https://auth.example") };
    const plan = planSignIn(config, visit, { ...nothing, ...facts });
    if (plan.act === "refuse") return `refuse: ${plan.reason}`;
    if (plan.act !== "sign_up") return plan.act;
    return `sign_up: ${plan.invited?.id ?? "own"}${plan.isConfirmed ? "" : ", unconfirmed"}`;
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

const cases: Readonly<Record<string, readonly Case[]>> = {
  enter: [{ facts: { user, isConnected: true }, vouches: false }, {
    facts: { user: unconfirmed, isConnected: true },
  }],
  connect: [{ facts: { user } }, { facts: { user }, signedInAs: user }],
  take_back: [{ facts: { user: unconfirmed } }, { facts: { user: unconfirmed, room }, ofCompany: true }],
  "sign_up: own": [{ facts: {} }, { facts: { room }, ofCompany: true, signUp: "closed" }, {
    facts: { invitation },
  }],
  "sign_up: own, unconfirmed": [{ facts: {}, vouches: false }],
  "sign_up: inv_1": [
    { facts: { invitation }, signUp: "invite" },
    { facts: { followed }, invitationHash: "a", signUp: "invite", vouches: false },
  ],
  "refuse: no email address": [{ facts: { email: null } }],
  "refuse: domain not verified": [{ facts: { user, isConnected: true, isBelieved: false }, ofCompany: true }],
  "refuse: not connected": [{ facts: { user }, vouches: false }, {
    facts: { user: disabled },
    vouches: false,
  }],
  "refuse: account disabled": [{ facts: { user: disabled, isConnected: true } }],
  "refuse: address not confirmed": [{ facts: { room }, ofCompany: true, vouches: false }],
  "refuse: invitation for another address": [
    { facts: { followed: { ...followed, email: "eve@example.com" } }, invitationHash: "a" },
  ],
  "refuse: sign-up closed": [
    { facts: {}, signUp: "invite" },
    { facts: { invitation }, signUp: "invite", vouches: false },
    { facts: { invitation, followed }, signUp: "closed", invitationHash: "a" },
  ],
  sso_required: [{ facts: { ofDomain } }, { facts: { user, isConnected: true, ofDomain } }],
  invalid_token: [{ facts: { invitation }, invitationHash: "a" }],
  wrong_account: [
    { facts: { user, isConnected: true }, signedInAs: { id: "usr_2", email } },
    { facts: {}, signedInAs: user },
  ],
  organization_suspended: [{ facts: { room: { ...room, suspended: 1 } }, ofCompany: true }, {
    facts: { followed: { ...followed, suspended: 1 } },
    invitationHash: "a",
  }],
  limit_reached: [{ facts: { user, room: { ...room, hasRoom: 0 } }, ofCompany: true }],
};

for (const [expected, given] of Object.entries(cases)) {
  Deno.test(`decides ${expected}`, () => {
    for (const one of given) assert.equal(outcome(one), expected, JSON.stringify(one));
  });
}
