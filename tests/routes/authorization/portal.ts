// Who is allowed to use each page of the portal. authorization_test.ts fails if a page is missing.
import type { Scene } from "../../support/people/scene.ts";
import { apiTable, withPasskey } from "./api.ts";
import { companyPortalEntries } from "./company_sign_in.ts";
import {
  type Attempt,
  type Entry,
  everybody,
  formOf,
  inActive,
  inActiveForOwner,
  inActiveFromAdmin,
  nobodyElses,
  objectForOwner,
  objectFromAdmin,
  open,
  signedIn,
} from "./entry.ts";
import { identityPortalEntries } from "./identities.ts";
import { portalMeterEntries } from "./portal_meter.ts";
import { webhookPortalEntries } from "./webhooks.ts";
import { onOwner, unverified, write } from "./writes.ts";

const withMember = (more: Attempt) => async (scene: Scene) => ({
  ...more,
  params: { userId: (await scene.newMember("MEMBER")).userId },
});
const withInvitation = async (scene: Scene) => ({
  params: { invitationId: (await scene.newInvitation()).id },
});
const withOffer = (attempt: (token: string) => Attempt) => async (scene: Scene) =>
  attempt((await scene.newInvitation()).token);
const aboutPasskey: Entry = { who: nobodyElses, attempt: withPasskey({}) };
const otherApplication = () => ({ params: { id: "cli_0199d3c1a2b47c6e8f00112233445566" } });

const form = (route: string, more: Partial<Entry> = {}) => formOf(apiTable[route], more);

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
  "POST /sign-in": form("POST /api/auth/sign-in"),
  "GET /sign-in/continue": { who: open },
  "GET /sign-up": { who: open },
  "POST /sign-up": form("POST /api/auth/sign-up"),
  "POST /sign-out": { who: open },
  ...portalMeterEntries,

  "GET /gatehouse.js": { who: open },
  "GET /gatehouse.d.ts": { who: open },
  "GET /forgot-password": { who: open },
  "POST /forgot-password": form("POST /api/auth/password/forgot"),
  "GET /reset-password": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /reset-password": form("POST /api/auth/password/reset"),
  "GET /verify-email": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /verify-email": form("POST /api/auth/email/verify"),
  "GET /portal/confirm-password": { who: signedIn },
  "POST /portal/confirm-password": form("POST /api/portal/account/proof"),
  "GET /portal/confirm-password/passkey": { who: signedIn },
  "POST /portal/confirm-password/passkey": form("POST /api/portal/account/proof/passkey", { also: [401] }),
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
  "POST /portal/account/name": form("PATCH /api/portal/account"),
  "POST /portal/account/preferences": form("PATCH /api/auth/preferences"),
  "POST /portal/account/emails": { who: signedIn, attempt: () => ({ form: { limits: "off" } }) },
  "POST /portal/account/verification": form("POST /api/auth/email/verification"),
  "GET /portal/account/applications": { who: signedIn },
  // Only the person who allowed an application can remove its access.
  "GET /portal/account/applications/:id/remove": { who: signedIn, attempt: otherApplication, also: [404] },
  "POST /portal/account/applications/:id/remove": {
    who: signedIn,
    attempt: () => ({ ...otherApplication(), form: {} }),
    also: [404],
    writes: [],
  },
  "GET /portal/account/email": { who: signedIn },
  "POST /portal/account/email": form("POST /api/portal/account/email"),
  "GET /portal/account/delete": { who: signedIn },
  "POST /portal/account/delete": { who: signedIn, attempt: ({ me }) => ({ form: { email: me.email } }) },
  "GET /portal/account/security": { who: signedIn },
  "GET /portal/account/security/password": { who: open },
  "POST /portal/account/security/password": form("POST /api/auth/password/change"),
  "POST /portal/account/security/sessions/:id/end": form("DELETE /api/auth/sessions/:id"),
  "POST /portal/account/security/sessions/end-others": form("DELETE /api/auth/sessions"),

  "GET /dev/mail": { who: open },
  // There is no such email.
  "GET /dev/mail/:id": { who: everybody("unknown"), attempt: () => ({ params: { id: "mail_1" } }) },
  "GET /dev/mail/:id/html": { who: everybody("unknown"), attempt: () => ({ params: { id: "mail_1" } }) },

  "GET /portal/account/two-step": { who: signedIn },
  "GET /portal/account/two-step/begin": { who: open },
  "POST /portal/account/two-step/begin": form("POST /api/portal/account/two-step/totp"),
  "GET /portal/account/two-step/set-up": { who: signedIn },
  "POST /portal/account/two-step/set-up": form("POST /api/portal/account/two-step/totp/confirm"),
  "GET /portal/account/two-step/recovery-codes": { who: signedIn },
  "POST /portal/account/two-step/recovery-codes": form("POST /api/portal/account/two-step/recovery-codes"),
  "GET /portal/account/two-step/turn-off": { who: signedIn },
  "GET /portal/account/two-step/turn-off-link": { who: signedIn },
  "POST /portal/account/two-step/turn-off-link": form("POST /api/portal/account/two-step/turn-off-link"),
  "GET /turn-off-two-step": { who: open, attempt: () => ({ query: "?token=x" }), also: [404] },
  "POST /turn-off-two-step": { who: open, attempt: () => ({ form: { token: "x" } }), also: [404] },
  "POST /portal/account/two-step/turn-off": form("DELETE /api/portal/account/two-step/totp"),
  "GET /portal/account/passkeys": { who: signedIn },
  "GET /portal/account/passkeys/new": { who: signedIn },
  "POST /portal/account/passkeys/new": form("POST /api/portal/account/passkeys"),
  "GET /portal/account/passkeys/:id/rename": aboutPasskey,
  "POST /portal/account/passkeys/:id/rename": form("PATCH /api/portal/account/passkeys/:id"),
  "GET /portal/account/passkeys/:id/remove": aboutPasskey,
  "POST /portal/account/passkeys/:id/remove": form("DELETE /api/portal/account/passkeys/:id"),
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
  "POST /sign-in/passkey": form("POST /api/auth/sign-in/passkey"),

  "GET /portal/audit": { who: inActiveFromAdmin },
  "GET /portal/members": { who: inActive },
  "POST /portal/members": form("POST /api/portal/organizations/:id/invitations", { who: inActiveFromAdmin }),
  "GET /portal/members/leave": { who: inActive },
  // A stranger is the last owner of their own organization.
  "POST /portal/members/leave": { who: inActive, attempt: () => ({ form: {} }), also: [409] },
  "GET /portal/members/:userId/role": { who: objectForOwner, attempt: withMember({}) },
  "POST /portal/members/:userId/role": form("PATCH /api/portal/organizations/:id/members/:userId", {
    who: objectForOwner,
  }),
  "GET /portal/members/:userId/remove": { who: objectFromAdmin, attempt: withMember({}) },
  "POST /portal/members/:userId/remove": {
    who: objectFromAdmin,
    attempt: withMember({ form: { keys: "revoke" } }),
    writes: [
      ...write(withMember({ form: { keys: "revoke" } }), ["member", "removed"]),
      ...onOwner((_world, userId) => ({ params: { userId }, form: { keys: "revoke" } })),
    ],
  },
  "GET /portal/invitations/:invitationId/resend": { who: open, attempt: withInvitation },
  "POST /portal/invitations/:invitationId/resend": form(
    "POST /api/portal/organizations/:id/invitations/:invitationId/resend",
    { who: objectFromAdmin },
  ),
  "GET /portal/invitations/:invitationId/revoke": { who: objectFromAdmin, attempt: withInvitation },
  "POST /portal/invitations/:invitationId/revoke": form(
    "DELETE /api/portal/organizations/:id/invitations/:invitationId",
    { who: objectFromAdmin },
  ),
  "GET /invitations/accept": { who: open, attempt: withOffer((token) => ({ query: `?token=${token}` })) },
  // The page says what to do: switch accounts, sign in or sign up.
  "POST /invitations/accept": form("POST /api/portal/invitations/accept", { who: open, also: [401, 403] }),
  "GET /invitations/sign-up": { who: open },
  "POST /invitations/sign-up": {
    who: open,
    attempt: withOffer((token) => ({ form: { token, name: "New", password: "a fine 9 long password" } })),
    also: [403],
  },
  "GET /invitations/sign-out": { who: open },
  "POST /invitations/sign-out": { who: open, attempt: withOffer((token) => ({ form: { token } })) },
  "GET /portal/organizations": { who: signedIn },
  "POST /portal/organizations": form("POST /api/portal/organizations"),
  "GET /portal/switch": { who: open },
  "POST /portal/switch": form("POST /api/auth/organization"),
  "GET /portal/organization": { who: inActive },
  "POST /portal/organization": form("PATCH /api/portal/organizations/:id", { who: inActiveForOwner }),
  "GET /portal/organization/transfer": { who: inActiveForOwner },
  "POST /portal/organization/transfer": form("POST /api/portal/organizations/:id/transfer", {
    who: inActiveForOwner,
    also: [422],
  }),
  "GET /portal/organization/delete": { who: inActiveForOwner },
  "POST /portal/organization/delete": form("DELETE /api/portal/organizations/:id", {
    who: inActiveForOwner,
    also: [422],
  }),
};
