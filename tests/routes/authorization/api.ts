// Who is allowed to use each route of the API. authorization_test.ts fails if a route is missing.
import { testPassword } from "../../support/app/app.ts";
import {
  type Attempt,
  byKey,
  byKeyOrCollector,
  type Entry,
  everybody,
  holdOf,
  inActive,
  inActiveFromAdmin,
  inNamed,
  inNamedForOwner,
  inNamedFromAdmin,
  nobodyElses,
  objectFromAdmin,
  objectInActive,
  open,
  recordOf,
  sessionOf,
  signedIn,
  withAlert,
  withKey,
} from "./entry.ts";
import type { Role } from "../../../domain/access/session.ts";
import { grantVoids, newPasskey } from "../../support/operators/operators.ts";
import type { Scene } from "../../support/people/scene.ts";
import { companyApiEntries, companyOperatorEntries } from "./company_sign_in.ts";
import { identityApiEntries } from "./identities.ts";
import { webhookApiEntries } from "./webhooks.ts";
import {
  belowAdmin,
  belowOwner,
  joining,
  onKeys,
  onOtherSession,
  onOwner,
  onOwnerInvitation,
  onOwnPasskey,
  unverified,
  withEmailLink,
  withFirstCode,
  withNewPasskey,
  withOwnPasskey,
  withPassword,
  withTurnOffLink,
  withTwoStep,
  withTwoStepAndPassword,
  write,
} from "./writes.ts";

const record = { productSlug: "p", metric: "m", quantity: 1 };
const event = { specversion: "1.0", id: "1", source: "/p", type: "m", data: { quantity: 1 } };
const inOrganization =
  (rest: (scene: Scene) => Attempt | Promise<Attempt> = () => ({})) => async (scene: Scene) => {
    const more = await rest(scene);
    return { ...more, params: { id: scene.organizationId, ...more.params } };
  };
const withInvitation = inOrganization(async (scene) => ({
  params: { invitationId: (await scene.newInvitation()).id },
}));
const withMember = (more: Attempt) =>
  inOrganization(async (scene) => ({
    ...more,
    params: { userId: (await scene.newMember("MEMBER")).userId },
  }));

/** @returns An attempt on a passkey of someone else. */
export const withPasskey = (more: Attempt) => async ({ test, newMember }: Scene) => ({
  ...more,
  params: { id: await newPasskey(test, (await newMember("OWNER")).userId) },
});

const inviting = (role: Role) => inOrganization(({ me }) => ({ json: { email: `guest.${me.email}`, role } }));

const onInvitations = [
  ...write(withInvitation, belowAdmin),
  ...onOwnerInvitation(({ organizationId }, invitationId) => ({
    params: { id: organizationId, invitationId },
  })),
];

/** Every route by method and path. Static files are one entry. */
export const apiTable: Readonly<Record<string, Entry>> = {
  "GET /": { who: open },
  "GET /static/*": { who: open },
  "GET /health/live": { who: open },
  "GET /health/ready": { who: open },
  "GET /metrics": { who: open },
  "GET /api/openapi.json": { who: open },

  "POST /api/auth/sign-up": {
    who: open,
    attempt: ({ me }) => ({
      json: { name: "N", email: `new.${me.userId}@example.com`, password: "a fine 9 long password" },
    }),
  },
  "POST /api/auth/sign-in": {
    who: open,
    attempt: ({ me }) => ({ json: { email: `no.${me.email}`, password: "not a password" } }),
    also: [401],
  },
  "POST /api/auth/sign-out": { who: open },
  "GET /api/auth/me": { who: open },
  "GET /api/auth/forward": { who: signedIn },
  "POST /api/auth/password/forgot": { who: open, attempt: ({ me }) => ({ json: { email: me.email } }) },
  // A key that doesn't exist, so that the callers' keys keep working.
  "POST /api/v1/keys/report": { who: open, attempt: () => ({ json: { key: "service_live_unknown" } }) },
  // It checks a signature instead of the caller.
  "POST /api/v1/keys/report/github": { who: open, also: [403], attempt: () => ({ json: [] }) },
  "POST /api/auth/password/reset": {
    who: open,
    attempt: async ({ me, newLink }) => ({
      json: {
        token: await newLink("reset_password", me.userId, me.email),
        password: "a fine 9 long password",
      },
    }),
  },
  "POST /api/auth/password/change": {
    who: signedIn,
    attempt: () => ({ json: { currentPassword: "not it", newPassword: "a fine 9 long password" } }),
    also: [401],
    writes: withPassword((currentPassword) => ({
      json: { currentPassword, newPassword: "a fine 9 long password" },
    })),
  },
  "POST /api/auth/email/verification": { who: signedIn, writes: unverified({}) },
  "POST /api/auth/email/verify": {
    who: signedIn,
    attempt: async ({ me, newLink }) => ({
      json: { token: await newLink("verify_email", me.userId, me.email) },
    }),
    writes: withEmailLink((token) => ({ json: { token } })),
  },
  "POST /api/auth/organization": {
    who: { ...signedIn, stranger: "unknown", removed: "unknown" },
    attempt: ({ organizationId }) => ({ json: { organizationId } }),
  },
  "GET /api/auth/sessions": { who: signedIn },
  "DELETE /api/auth/sessions": { who: signedIn },
  "DELETE /api/auth/sessions/:id": {
    // Another person's session: not found for everyone else.
    who: nobodyElses,
    attempt: async (scene) => ({ params: { id: await sessionOf(scene, await scene.newMember("OWNER")) } }),
    writes: onOtherSession({}),
  },

  "PATCH /api/portal/account": { who: signedIn, attempt: () => ({ json: { name: "New Name" } }) },
  "GET /api/auth/preferences": { who: signedIn },
  "PATCH /api/auth/preferences": { who: signedIn, attempt: () => ({ json: { theme: "dark" } }) },
  "GET /api/portal/account/emails": { who: signedIn },
  "PATCH /api/portal/account/emails": { who: signedIn, attempt: () => ({ json: { limits: false } }) },
  "DELETE /api/portal/account": { who: signedIn },
  "POST /api/portal/account/proof": {
    who: signedIn,
    attempt: () => ({ json: { password: "not it" } }),
    also: [401],
    writes: withPassword((password) => ({ json: { password } })),
  },
  "POST /api/portal/account/proof/passkey/options": { who: signedIn, also: [409], writes: onOwnPasskey({}) },
  "POST /api/portal/account/proof/passkey": {
    who: signedIn,
    attempt: () => ({ json: { response: {} } }),
    also: [401, 422],
    writes: withOwnPasskey((response) => ({ json: { response } })),
  },
  "POST /api/portal/account/email": {
    who: signedIn,
    attempt: ({ me }) => ({ json: { email: `other.${me.email}` } }),
  },

  "GET /api/portal/organizations": { who: signedIn },
  "POST /api/portal/organizations": { who: signedIn, attempt: () => ({ json: { name: "New" } }) },
  "GET /api/portal/organizations/:id": { who: inNamed, attempt: inOrganization() },
  "PATCH /api/portal/organizations/:id": {
    who: inNamedForOwner,
    attempt: inOrganization(() => ({ json: { name: "Renamed" } })),
  },
  "DELETE /api/portal/organizations/:id": {
    who: inNamedForOwner,
    attempt: inOrganization(({ organizationName }) => ({ json: { name: organizationName } })),
  },
  "POST /api/portal/organizations/:id/transfer": {
    who: inNamedForOwner,
    attempt: inOrganization(async (scene) => ({
      json: { userId: (await scene.newMember("MEMBER")).userId },
    })),
  },
  "GET /api/portal/organizations/:id/members": { who: inNamed, attempt: inOrganization() },
  "PATCH /api/portal/organizations/:id/members/:userId": {
    who: inNamedForOwner,
    attempt: withMember({ json: { role: "ADMIN" } }),
  },
  "DELETE /api/portal/organizations/:id/members/:userId": {
    who: inNamedFromAdmin,
    attempt: withMember({}),
    writes: [
      ...write(withMember({}), belowAdmin),
      ...onOwner(({ organizationId }, userId) => ({ params: { id: organizationId, userId } })),
      ...write(inOrganization(({ me }) => ({ params: { userId: me.userId } })), ["removed"]),
    ],
  },
  "GET /api/portal/organizations/:id/invitations": { who: inNamedFromAdmin, attempt: inOrganization() },
  "POST /api/portal/organizations/:id/invitations": {
    who: inNamedFromAdmin,
    attempt: inviting("MEMBER"),
    writes: [...write(inviting("MEMBER"), belowAdmin), ...write(inviting("OWNER"), belowOwner)],
  },
  "POST /api/portal/organizations/:id/invitations/:invitationId/resend": {
    who: inNamedFromAdmin,
    attempt: withInvitation,
    writes: onInvitations,
  },
  "DELETE /api/portal/organizations/:id/invitations/:invitationId": {
    who: inNamedFromAdmin,
    attempt: withInvitation,
    writes: onInvitations,
  },
  "POST /api/portal/invitations/accept": {
    // An invitation works only for its own address.
    who: { ...everybody("forbidden"), nobody: "signIn", apiKey: "signIn" },
    attempt: async (scene) => ({ json: { token: (await scene.newInvitation()).token } }),
    writes: joining((token) => ({ json: { token } })),
  },

  "GET /api/portal/api-keys": { who: inActive },
  "POST /api/portal/api-keys": { who: inActive, attempt: () => ({ json: { name: "Key" } }) },
  "PATCH /api/portal/api-keys/:id": {
    who: objectInActive,
    attempt: withKey({ json: { name: "Renamed" } }),
    writes: onKeys({ json: { name: "Renamed" } }),
  },
  "DELETE /api/portal/api-keys/:id": { who: objectInActive, attempt: withKey(), writes: onKeys() },
  "POST /api/portal/api-keys/:id/rotate": { who: objectInActive, attempt: withKey(), writes: onKeys() },
  ...webhookApiEntries,
  "POST /api/auth/sign-in/second-step": {
    who: open,
    attempt: () => ({ json: { token: "x", code: "000000" } }),
    also: [401, 409],
  },
  "POST /api/auth/sign-in/passkey/options": { who: open, attempt: () => ({ json: {} }) },
  "POST /api/auth/sign-in/passkey": {
    who: open,
    attempt: () => ({ json: { response: {} } }),
    also: [401, 422],
  },
  "GET /api/portal/account/two-step": { who: signedIn },
  "POST /api/portal/account/two-step/totp": { who: signedIn },
  "POST /api/portal/account/two-step/totp/confirm": {
    who: signedIn,
    attempt: () => ({ json: { code: "000000" } }),
    also: [401, 409],
    writes: withFirstCode((code) => ({ json: { code } })),
  },
  "DELETE /api/portal/account/two-step/totp": { who: signedIn, also: [409], writes: withTwoStep({}) },
  "POST /api/portal/account/two-step/recovery-codes": { who: signedIn, also: [409], writes: withTwoStep({}) },
  "POST /api/portal/account/two-step/turn-off-link": {
    who: signedIn,
    attempt: () => ({ json: { password: testPassword } }),
    also: [409],
    writes: withTwoStepAndPassword((password) => ({ json: { password } })),
  },
  "POST /api/portal/account/two-step/turn-off": {
    who: signedIn,
    attempt: () => ({ json: { token: "x" } }),
    also: [404],
    writes: withTurnOffLink((token) => ({ json: { token } })),
  },
  "GET /api/portal/account/passkeys": { who: signedIn },
  "POST /api/portal/account/passkeys/options": { who: signedIn },
  "POST /api/portal/account/passkeys": {
    who: signedIn,
    attempt: () => ({ json: { name: "Phone", response: {} } }),
    also: [401, 422],
    writes: withNewPasskey((response) => ({ json: { name: "Phone", response } })),
  },
  "PATCH /api/portal/account/passkeys/:id": {
    who: nobodyElses,
    attempt: withPasskey({ json: { name: "Mine" } }),
    writes: onOwnPasskey({ json: { name: "Mine" } }),
  },
  "DELETE /api/portal/account/passkeys/:id": {
    who: nobodyElses,
    attempt: withPasskey({}),
    writes: onOwnPasskey({}),
  },

  ...identityApiEntries,
  ...companyApiEntries,
  ...companyOperatorEntries,
  "GET /api/portal/audit": { who: inActiveFromAdmin },
  "GET /api/portal/events": { who: inActiveFromAdmin },
  "GET /api/portal/audit.csv": { who: inActiveFromAdmin },
  "GET /api/portal/usage": { who: inActive },
  "GET /api/portal/usage.csv": { who: inActive },
  "GET /api/portal/limits": { who: inActive },
  "GET /api/portal/holds": { who: inActive },
  "GET /api/portal/outcomes": { who: inActive },
  "GET /api/portal/rejections": { who: inActive },
  "GET /api/portal/plan": { who: inActive },
  "GET /api/portal/grants": { who: inActive },
  "GET /api/portal/alerts": { who: inActive },
  "POST /api/portal/alerts": {
    who: inActiveFromAdmin,
    attempt: () => ({ json: { per: "day", quantity: 1 } }),
  },
  "GET /api/portal/alerts/:alertId": { who: objectInActive, attempt: withAlert() },
  "PATCH /api/portal/alerts/:alertId": {
    who: objectFromAdmin,
    attempt: withAlert({ json: { quantity: 2 } }),
  },
  "DELETE /api/portal/alerts/:alertId": { who: objectFromAdmin, attempt: withAlert() },
  "GET /api/portal/statements": { who: inActive },
  "GET /api/portal/statements/:period": { who: inActive, attempt: () => ({ params: { period: "open" } }) },

  "GET /api/v1/usage": { who: byKey },
  "GET /api/v1/usage.csv": { who: byKey },
  "GET /api/v1/limits": { who: byKey },
  "GET /api/v1/keys/forward": { who: byKey },
  "POST /api/v1/usage": byKeyOrCollector(() => ({ json: record })),
  "POST /api/v1/events": byKeyOrCollector(() => ({ json: event })),
  "POST /api/v1/usage/batch": { who: byKey, attempt: () => ({ json: { records: [record] } }) },
  "GET /api/v1/holds": { who: byKey },
  "GET /api/v1/holds/:id": {
    who: byKey,
    attempt: async (scene) => ({ params: { id: await holdOf(scene) } }),
  },
  "POST /api/v1/holds": { who: byKey, attempt: () => ({ json: { records: [record] } }) },
  "POST /api/v1/holds/:id/settle": {
    who: byKey,
    attempt: async (scene) => ({ params: { id: await holdOf(scene) }, json: { records: [record] } }),
  },
  "POST /api/v1/holds/:id/release": {
    who: byKey,
    attempt: async (scene) => ({ params: { id: await holdOf(scene) } }),
  },
  "POST /api/v1/holds/:id/extend": {
    who: byKey,
    attempt: async (scene) => ({ params: { id: await holdOf(scene) }, json: { expiresIn: 600 } }),
  },
  "GET /api/v1/usage/records": { who: byKey },
  "GET /api/v1/usage/records/:id": {
    who: byKey,
    attempt: async (scene) => ({ params: { id: await recordOf(scene) } }),
  },
  "POST /api/v1/usage/records/:id/void": {
    who: byKey,
    attempt: async (scene) => {
      await scene.test.opened.database.write([grantVoids]);
      return { params: { id: await recordOf(scene) }, json: { reason: "wrong" } };
    },
  },
};
