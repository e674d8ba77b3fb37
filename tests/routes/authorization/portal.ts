// Who is allowed to use each page of the portal. authorization_test.ts fails if a page is missing.
import { testPassword } from "../../support/app/app.ts";
import {
  type Attempt,
  type Entry,
  everybody,
  inActive,
  inActiveForOwner,
  inActiveFromAdmin,
  nobodyElses,
  objectForOwner,
  objectFromAdmin,
  open,
  passkeyOf,
  sessionOf,
  signedIn,
} from "./entry.ts";
import { companyPortalEntries } from "./company_sign_in.ts";
import { identityPortalEntries } from "./identities.ts";
import { portalMeterEntries } from "./portal_meter.ts";
import { webhookPortalEntries } from "./webhooks.ts";
import type { Scene } from "../../support/people/scene.ts";
import {
  belowOwner,
  joining,
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
  withTwoStep,
  withTwoStepAndPassword,
  write,
} from "./writes.ts";

const withMember = (more: Attempt) => async (scene: Scene) => ({
  ...more,
  params: { userId: (await scene.newMember("MEMBER")).userId },
});
const withInvitation = (more: Attempt) => async (scene: Scene) => ({
  ...more,
  params: { invitationId: (await scene.newInvitation()).id },
});
const withOffer = (attempt: (token: string) => Attempt) => async (scene: Scene) =>
  attempt((await scene.newInvitation()).token);

const withPasskey = (more: Attempt) => ({
  attempt: async (scene: Scene) => ({
    ...more,
    params: { id: await passkeyOf(scene, await scene.newMember("OWNER")) },
  }),
});

const onInvitations = [
  ...write(withInvitation({ form: {} }), ["member", "removed"]),
  ...onOwnerInvitation((_world, invitationId) => ({ params: { invitationId }, form: {} })),
];

/** Every page and form by method and path. */
export const portalTable: Readonly<Record<string, Entry>> = {
  ...webhookPortalEntries,
  "GET /docs": { who: open },
  "GET /docs/search": { who: open },
  "GET /docs/:page": { who: open, attempt: () => ({ params: { page: "concepts" } }) },
  "GET /docs/examples/:file": { who: open, attempt: () => ({ params: { file: "app.py" } }) },
  "GET /download": { who: open },
  "GET /download/": { who: open },
  "GET /download/:file": { who: open, attempt: () => ({ params: { file: "gatehouse.py" } }) },
  "GET /docs/reference/:group": { who: open, attempt: () => ({ params: { group: "usage" } }) },
  "GET /docs/reference/:group/:operation": {
    who: open,
    attempt: () => ({ params: { group: "usage", operation: "recordUsage" } }),
  },
  "GET /portal": { who: inActive },
  "GET /portal/search": { who: signedIn, attempt: () => ({ query: "?q=a" }) },
  "GET /sign-in": { who: open },
  "POST /sign-in": {
    who: open,
    attempt: ({ me }) => ({ form: { email: `no.${me.email}`, password: "not a password" } }),
    also: [401],
  },
  "GET /sign-in/continue": { who: open },
  "GET /sign-up": { who: open },
  "POST /sign-up": {
    who: open,
    attempt: ({ me }) => ({
      form: { name: "N", email: `new.${me.userId}@example.com`, password: "a fine 9 long password" },
    }),
  },
  "POST /sign-out": { who: open },
  ...portalMeterEntries,

  "GET /gatehouse.js": { who: open },
  "GET /gatehouse.d.ts": { who: open },
  "GET /forgot-password": { who: open },
  "POST /forgot-password": { who: open, attempt: ({ me }) => ({ form: { email: me.email } }) },
  "GET /reset-password": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /reset-password": {
    who: open,
    attempt: async ({ me, newLink }) => ({
      form: {
        token: await newLink("reset_password", me.userId, me.email),
        password: "a fine 9 long password",
      },
    }),
  },
  "GET /verify-email": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /verify-email": {
    who: signedIn,
    attempt: async ({ me, newLink }) => ({
      form: { token: await newLink("verify_email", me.userId, me.email) },
    }),
    writes: withEmailLink((token) => ({ form: { token } })),
  },
  "GET /portal/confirm-password": { who: signedIn },
  "POST /portal/confirm-password": {
    who: signedIn,
    attempt: () => ({ form: { password: "not it" } }),
    also: [401],
    writes: withPassword((password) => ({ form: { password } })),
  },
  "GET /portal/confirm-password/passkey": { who: signedIn },
  "POST /portal/confirm-password/passkey": {
    who: signedIn,
    attempt: () => ({ form: { response: "{}" } }),
    also: [401],
    writes: withOwnPasskey((response) => ({ form: { response: JSON.stringify(response) } })),
  },
  "GET /portal/access": { who: signedIn, attempt: () => ({ query: "?return_to=/portal" }) },
  "POST /portal/access": {
    who: signedIn,
    attempt: () => ({ query: "?return_to=/portal", form: { act: "send-email" } }),
    writes: [
      ...unverified({ query: "?return_to=/portal", form: { act: "send-email" } }),
      ...write(({ organizationId }) => ({
        query: "?return_to=/portal",
        form: { act: "switch", organizationId },
      }), ["removed"]),
    ],
  },
  "GET /portal/account": { who: signedIn },
  // Redirects to the account page, which requires a session.
  "GET /portal/account/name": { who: open },
  "GET /portal/account/preferences": { who: open },
  "GET /portal/account/verification": { who: open },
  "POST /portal/account/name": { who: signedIn, attempt: () => ({ form: { name: "New Name" } }) },
  "POST /portal/account/preferences": { who: signedIn, attempt: () => ({ form: { theme: "dark" } }) },
  "POST /portal/account/emails": { who: signedIn, attempt: () => ({ form: { limits: "off" } }) },
  "POST /portal/account/verification": {
    who: signedIn,
    attempt: () => ({ form: {} }),
    writes: unverified({ form: {} }),
  },
  "GET /portal/account/email": { who: signedIn },
  "POST /portal/account/email": {
    who: signedIn,
    attempt: ({ me }) => ({ form: { email: `other.${me.email}` } }),
  },
  "GET /portal/account/delete": { who: signedIn },
  "POST /portal/account/delete": { who: signedIn, attempt: ({ me }) => ({ form: { email: me.email } }) },
  "GET /portal/account/security": { who: signedIn },
  "GET /portal/account/security/password": { who: open },
  "POST /portal/account/security/password": {
    who: signedIn,
    attempt: () => ({ form: { currentPassword: "not it", newPassword: "a fine 9 long password" } }),
    also: [401],
    writes: withPassword((currentPassword) => ({
      form: { currentPassword, newPassword: "a fine 9 long password" },
    })),
  },
  "POST /portal/account/security/sessions/:id/end": {
    who: nobodyElses,
    attempt: async (scene) => ({
      params: { id: await sessionOf(scene, await scene.newMember("OWNER")) },
      form: {},
    }),
    writes: onOtherSession({ form: {} }),
  },
  "POST /portal/account/security/sessions/end-others": { who: signedIn, attempt: () => ({ form: {} }) },

  "GET /dev/mail": { who: open },
  // There is no such email.
  "GET /dev/mail/:id": { who: everybody("unknown"), attempt: () => ({ params: { id: "mail_1" } }) },
  "GET /dev/mail/:id/html": { who: everybody("unknown"), attempt: () => ({ params: { id: "mail_1" } }) },

  "GET /portal/account/two-step": { who: signedIn },
  "GET /portal/account/two-step/begin": { who: open },
  "POST /portal/account/two-step/begin": { who: signedIn, attempt: () => ({ form: {} }) },
  "GET /portal/account/two-step/set-up": { who: signedIn },
  "POST /portal/account/two-step/set-up": {
    who: signedIn,
    attempt: () => ({ form: { code: "000000" } }),
    also: [401, 409],
    writes: withFirstCode((code) => ({ form: { code } })),
  },
  "GET /portal/account/two-step/recovery-codes": { who: signedIn },
  "POST /portal/account/two-step/recovery-codes": {
    who: signedIn,
    attempt: () => ({ form: {} }),
    also: [409],
    writes: withTwoStep({ form: {} }),
  },
  "GET /portal/account/two-step/turn-off": { who: signedIn },
  "GET /portal/account/two-step/turn-off-link": { who: signedIn },
  "POST /portal/account/two-step/turn-off-link": {
    who: signedIn,
    attempt: () => ({ form: { password: testPassword } }),
    also: [409],
    writes: withTwoStepAndPassword((password) => ({ form: { password } })),
  },
  "GET /turn-off-two-step": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /turn-off-two-step": { who: open, attempt: () => ({ form: { token: "x" } }), also: [404] },
  "POST /portal/account/two-step/turn-off": {
    who: signedIn,
    attempt: () => ({ form: {} }),
    also: [409],
    writes: withTwoStep({ form: {} }),
  },
  "GET /portal/account/passkeys": { who: signedIn },
  "GET /portal/account/passkeys/new": { who: signedIn },
  "POST /portal/account/passkeys/new": {
    who: signedIn,
    attempt: () => ({ form: { name: "Phone", response: "{}" } }),
    also: [401, 422],
    writes: withNewPasskey((response) => ({ form: { name: "Phone", response: JSON.stringify(response) } })),
  },
  "GET /portal/account/passkeys/:id/rename": { who: nobodyElses, ...withPasskey({}) },
  "POST /portal/account/passkeys/:id/rename": {
    who: nobodyElses,
    ...withPasskey({ form: { name: "Mine" } }),
    writes: onOwnPasskey({ form: { name: "Mine" } }),
  },
  "GET /portal/account/passkeys/:id/remove": { who: nobodyElses, ...withPasskey({}) },
  "POST /portal/account/passkeys/:id/remove": {
    who: nobodyElses,
    ...withPasskey({ form: {} }),
    writes: onOwnPasskey({ form: {} }),
  },
  ...identityPortalEntries,
  ...companyPortalEntries,
  "GET /sign-in/second-step": { who: open },
  "POST /sign-in/second-step": { who: open, attempt: () => ({ form: { code: "000000" } }), also: [401, 409] },
  "POST /sign-in/second-step/passkey/options": { who: open, attempt: () => ({ form: {} }), also: [401, 409] },
  "GET /sign-in/second-step/passkey": { who: open },
  "POST /sign-in/second-step/passkey": {
    who: open,
    attempt: () => ({ form: { response: "{}" } }),
    also: [401, 409, 422],
  },
  "GET /sign-in/passkey": { who: open },
  "POST /sign-in/passkey": { who: open, attempt: () => ({ form: { response: "{}" } }), also: [401, 422] },

  "GET /portal/audit": { who: inActiveFromAdmin },
  "GET /portal/members": { who: inActive },
  "POST /portal/members": {
    who: inActiveFromAdmin,
    attempt: ({ me }) => ({ form: { email: `guest.${me.email}`, role: "MEMBER" } }),
    writes: [
      ...write(({ me }) => ({ form: { email: `guest.${me.email}`, role: "MEMBER" } }), ["member", "removed"]),
      ...write(({ me }) => ({ form: { email: `guest.${me.email}`, role: "OWNER" } }), belowOwner),
    ],
  },
  "GET /portal/members/leave": { who: inActive },
  // A stranger is the last owner of their own organization.
  "POST /portal/members/leave": { who: inActive, attempt: () => ({ form: {} }), also: [409] },
  "GET /portal/members/:userId/role": { who: objectForOwner, attempt: withMember({}) },
  "POST /portal/members/:userId/role": {
    who: objectForOwner,
    attempt: withMember({ form: { role: "ADMIN" } }),
  },
  "GET /portal/members/:userId/remove": { who: objectFromAdmin, attempt: withMember({}) },
  "POST /portal/members/:userId/remove": {
    who: objectFromAdmin,
    attempt: withMember({ form: { keys: "revoke" } }),
    writes: [
      ...write(withMember({ form: { keys: "revoke" } }), ["member", "removed"]),
      ...onOwner((_world, userId) => ({ params: { userId }, form: { keys: "revoke" } })),
    ],
  },
  "GET /portal/invitations/:invitationId/resend": { who: open, attempt: withInvitation({}) },
  "POST /portal/invitations/:invitationId/resend": {
    who: objectFromAdmin,
    attempt: withInvitation({ form: {} }),
    writes: onInvitations,
  },
  "GET /portal/invitations/:invitationId/revoke": { who: objectFromAdmin, attempt: withInvitation({}) },
  "POST /portal/invitations/:invitationId/revoke": {
    who: objectFromAdmin,
    attempt: withInvitation({ form: {} }),
    writes: onInvitations,
  },
  "GET /invitations/accept": { who: open, attempt: withOffer((token) => ({ query: `?token=${token}` })) },
  // The page says what to do: switch accounts, sign in or sign up.
  "POST /invitations/accept": {
    who: open,
    attempt: withOffer((token) => ({ form: { token } })),
    also: [401, 403],
    writes: joining((token) => ({ form: { token } })),
  },
  "GET /invitations/sign-up": { who: open },
  "POST /invitations/sign-up": {
    who: open,
    attempt: withOffer((token) => ({ form: { token, name: "New", password: "a fine 9 long password" } })),
    also: [403],
  },
  "GET /invitations/sign-out": { who: open },
  "POST /invitations/sign-out": { who: open, attempt: withOffer((token) => ({ form: { token } })) },
  "GET /portal/organizations": { who: signedIn },
  "POST /portal/organizations": { who: signedIn, attempt: () => ({ form: { name: "New" } }) },
  "GET /portal/switch": { who: open },
  "POST /portal/switch": {
    who: { ...signedIn, stranger: "unknown", removed: "unknown" },
    attempt: ({ organizationId }) => ({ form: { organizationId } }),
  },
  "GET /portal/organization": { who: inActive },
  "POST /portal/organization": { who: inActiveForOwner, attempt: () => ({ form: { name: "Renamed" } }) },
  "GET /portal/organization/transfer": { who: inActiveForOwner },
  "POST /portal/organization/transfer": {
    who: inActiveForOwner,
    attempt: async (scene) => ({ form: { userId: (await scene.newMember("MEMBER")).userId } }),
    // A stranger's own organization has no such member.
    also: [422],
  },
  "GET /portal/organization/delete": { who: inActiveForOwner },
  "POST /portal/organization/delete": {
    who: inActiveForOwner,
    attempt: ({ organizationName }) => ({ form: { name: organizationName } }),
    also: [422],
  },
};
