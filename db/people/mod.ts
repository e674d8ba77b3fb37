// People and their organizations: accounts, members, invitations, passkeys, second steps, and what is deleted with an account or
// an organization.
// Tables: passkey_challenges, passkeys, pending_sign_ins, provider_attempts, recovery_codes.
export { findCheckedProviders } from "./identity_providers.ts";
export { insertMembership } from "./memberships.ts";
export { endOrganizationAccess, markOrganizationDeleted } from "./organizations.ts";
export { countPasskeysElsewhere, deletePasskeys, findUsablePasskeys } from "./passkeys.ts";
export { deleteAllPendingSignIns, deleteUnfinishedSignIns } from "./pending_sign_ins.ts";
export { deleteRecoveryCodes } from "./recovery_codes.ts";
export { worksAt } from "./sign_in_methods.ts";
export { deleteTotp } from "./totp.ts";
export { insertUser, type NewUser, updatePasswordHash } from "./users.ts";
