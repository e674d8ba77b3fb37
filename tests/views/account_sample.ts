// Sample pages of the user's own account. sample.ts has the others.
import { accountPage, changeEmailPage, deleteAccountPage } from "../../views/account/account.tsx";
import { forgotPasswordPage, resetPasswordPage } from "../../views/account/passwords.tsx";
import { verifyEmailPage } from "../../views/account/verify_email.tsx";
import { confirmPasswordPage } from "../../views/sign_in/confirm_password.tsx";
import type { GateFrame, Page, PortalFrame } from "../../views/layout.tsx";
import { securityPage } from "../../views/sign_in/security.tsx";

/** @returns Every account page by name, with `text` wherever user text can appear. */
export function accountPages(
  text: string,
  { frame, gateFrame }: { frame: PortalFrame; gateFrame: GateFrame },
): Readonly<Record<string, Page>> {
  const { session } = frame;
  const unconfirmed = { ...frame, session: { ...session, user: { ...session.user, emailVerified: false } } };
  const account = {
    frame: unconfirmed,
    nameForm: { message: text, fields: { name: text }, input: { name: text } },
    emails: { limits: true },
    mailError: text,
    pendingEmail: text,
    ownerless: [],
    flash: text,
  };
  const place = {
    id: `ses_1/${text}`,
    current: false,
    device: text,
    address: text,
    createdAt: "2026-11-20T14:03:11.000Z",
    lastSeenAt: "2026-11-21T14:03:11.000Z",
  };
  const security = {
    frame,
    sessions: [{ ...place, current: true }, place],
    twoStep: { isOn: true, recoveryCodesLeft: 1 },
    passkeyCount: 1,
    form: { message: text, fields: { currentPassword: text, newPassword: text } },
    flash: text,
  };
  const forgot = {
    frame: gateFrame,
    hasMail: true,
    form: { message: text, fields: { email: text }, input: { email: text } },
  };
  const reset = { frame: gateFrame, token: text, form: { message: text, fields: { password: text } } };
  const remove = {
    frame,
    ending: [text],
    ownerless: [],
    form: forgot.form,
  };
  const verify = { frame: gateFrame, email: text } as const;
  const ready = { ...verify, state: "ready", token: text } as const;
  const signedOut = { ...verify, state: "signed-out", signInHref: `/sign-in?return_to=${text}` } as const;
  return {
    "account": accountPage(account),
    "account, emails off": accountPage({ ...account, emails: { limits: false } }),
    "account, no mail": accountPage({
      ...account,
      frame: { ...unconfirmed, sendsMail: false },
      pendingEmail: null,
    }),
    "account, last owner": accountPage({ ...account, frame, ownerless: [text, text] }),
    "change the address": changeEmailPage({
      frame,
      form: forgot.form,
    }),
    "delete the account": deleteAccountPage(remove),
    "delete the account, last owner": deleteAccountPage({ ...remove, ownerless: [text] }),
    "security": securityPage(security),
    "security, one session": securityPage({
      ...security,
      sessions: security.sessions.slice(0, 1),
      twoStep: { isOn: false, recoveryCodesLeft: 0 },
      passkeyCount: 0,
    }),
    "the password again": confirmPasswordPage({
      frame,
      returnTo: text,
      back: `/portal/${text}`,
      asksForPassword: true,
      isForConsole: false,
      asksForCode: false,
      hasPasskeys: true,
      form: { message: text, fields: { password: text } },
    }),
    "the password and a code again": confirmPasswordPage({
      frame,
      returnTo: text,
      back: `/portal/${text}`,
      asksForPassword: true,
      isForConsole: false,
      asksForCode: true,
      hasPasskeys: false,
      form: { message: text, fields: { code: text } },
    }),
    "a passkey": confirmPasswordPage({
      frame,
      returnTo: text,
      back: `/portal/${text}`,
      isForConsole: true,
      asksForPassword: false,
      asksForCode: false,
      hasPasskeys: true,
      form: { message: text, fields: {} },
    }),
    "forgotten password": forgotPasswordPage({ ...forgot, isSent: false }),
    "forgotten password, sent": forgotPasswordPage({ ...forgot, isSent: true }),
    "forgotten password, no mail": forgotPasswordPage({ ...forgot, hasMail: false, isSent: false }),
    "reset password": resetPasswordPage({ ...reset, takesBack: false }),
    "reset password, unconfirmed address": resetPasswordPage({ ...reset, takesBack: true }),
    "reset password, dead link": resetPasswordPage({ ...reset, takesBack: false, token: null }),
    "confirm an address": verifyEmailPage({ ...ready, purpose: "verify_email" }),
    "confirm a new address": verifyEmailPage({ ...ready, purpose: "change_email" }),
    "confirm an address, signed out": verifyEmailPage({ ...signedOut, purpose: "verify_email" }),
    "confirm a new address, signed out": verifyEmailPage({ ...signedOut, purpose: "change_email" }),
    "confirm an address, other account": verifyEmailPage({
      ...verify,
      purpose: "verify_email",
      state: "other",
      signedInAs: text,
    }),
    "confirm an address, dead link": verifyEmailPage({
      frame: gateFrame,
      state: "dead",
      isSignedIn: true,
      confirmed: text,
    }),
    "confirm an address, taken": verifyEmailPage({ frame: gateFrame, state: "taken" }),
  };
}
