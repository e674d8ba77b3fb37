// People: signing in with passwords, passkeys, second steps and providers; accounts; organizations with their members, invitations
// and sign-in rules.
export { acceptInvitation, findInvitationOffer } from "./accept_invitation.ts";
export {
  changeEmailChoices,
  deleteAccount,
  getEmailChoices,
  previewAccountDeletion,
  renameUser,
} from "./account.ts";
export { peopleWork } from "./background.ts";
export { findProviderForEmail } from "./domain_rules.ts";
export {
  findEmailLink,
  findPendingEmailChange,
  requestEmailChange,
  requestEmailVerification,
  verifyEmail,
} from "./email_addresses.ts";
export {
  beginConfirmation,
  beginLink,
  completeConfirmation,
  completeLink,
  getIdentity,
  getSignInMethods,
  listIdentities,
  unlinkIdentity,
} from "./identities.ts";
export {
  changeServiceProvider,
  checkIssuer,
  countProviderAccounts,
  createServiceProvider,
  deleteServiceProvider,
  getServiceProvider,
  getServiceProviderBySlug,
  listServiceProviders,
} from "./identity_providers.ts";
export {
  createInvitation,
  getInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from "./invitations.ts";
export {
  changeMemberRole,
  countMembers,
  getMember,
  listMembers,
  listOwners,
  removeMember,
} from "./members.ts";
export {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  readPlan,
  renameOrganization,
  transferOrganization,
} from "./organizations.ts";
export { beginPasskeySignIn, signInWithPasskey } from "./passkey_sign_in.ts";
export {
  addPasskey,
  beginPasskey,
  getPasskey,
  listPasskeys,
  removePasskey,
  renamePasskey,
} from "./passkeys.ts";
export {
  afterNewPassword,
  changePassword,
  checkNewPassword,
  findPasswordReset,
  requestPasswordReset,
  resetPassword,
} from "./passwords.ts";
export { changePreferences, readUsageMetric, rememberUsageChoices } from "./preferences.ts";
export { findProviderFault } from "./provider_discovery.ts";
export { offeredWays, signInWithProvider } from "./provider_sign_in.ts";
export {
  beginProviderVisit,
  completeProviderVisit,
  type ProviderVisit,
  requireProvider,
} from "./provider_visit.ts";
export { beginPasskeyProof, reauthenticate, reauthenticateWithPasskey } from "./reauthentication.ts";
export { findPendingSignIn, signInWithCode } from "./second_step.ts";
export { endOtherSessions, endSession, listSessions, switchOrganization } from "./sessions.ts";
export { type SecondStepRequired, type SignedIn, signIn, signOut } from "./sign_in.ts";
export { accountWith, type NewAccount, newAccount, signUp } from "./sign_up.ts";
export { changeStatus, statusChange } from "./suspension.ts";
export {
  beginTotp,
  canTurnOffTwoStep,
  confirmTotp,
  findTotpSetup,
  findTurnOffLink,
  getTwoStepStatus,
  replaceRecoveryCodes,
  requestTurnOffLink,
  turnOffTwoStep,
  turnOffTwoStepByLink,
} from "./two_step.ts";
export type { PasskeyAnswer, RegistrationAnswer } from "./webauthn.ts";
export * as companyDomains from "./company_domains.ts";
export * as companySignIn from "./company_sign_in.ts";
