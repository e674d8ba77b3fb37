// Who acts, and for which organization: what is checked when someone signs in, sessions, portal sessions, operator tokens, the
// conditions under which a key or an organization counts, and the audit log. Statements of all subjects ask these conditions in
// the transaction that writes, so that what ended is rejected by the very next statement.
// Tables, which every subject may name: api_keys, audit_events, identities, identity_providers, invitations, memberships,
// operator_tokens, organization_domains, organizations, plans, portal_sessions, refused_writes, sessions, sign_in_failures, totp,
// users.
export {
  activeApiKey,
  type ActiveApiKeyRow,
  type ApiKeyScope,
  currentKeyNumber,
  endOfKey,
  findActiveApiKey,
  findCurrentKeys,
  findImportedKeys,
  findNamedKey,
  findOrganizationOfApiKey,
  inScope,
  isActiveIn,
  keyAddedAt,
  keyMay,
  type KeyTerms,
  keyTerms,
  workingApiKey,
} from "./active_api_keys.ts";
export {
  actorFacts,
  actorOfEntry,
  type Audited,
  ifAudited,
  insertAuditEvent,
  insertAuditEvents,
  writeAuditEvent,
} from "./audit.ts";
export {
  beginShortening,
  domainPermits,
  type DomainProvider,
  findDomainProvider,
  isPasskeyPermitted,
  mayLeaveDomain,
} from "./domain_rules.ts";
export {
  deleteIdentities,
  findIdentitiesOfUser,
  findIdentity,
  hasAddress,
  identityMaySignIn,
  type IdentityUse,
  insertIdentity,
  isFreeIdentity,
  takeUserBack,
  unsetPassword,
  updateIdentityUsed,
} from "./identities.ts";
export {
  findOpenProvider,
  findProviderBySlug,
  findProviders,
  hasCompanyProviders,
  isProviderBelieved,
  listSignInProviders,
  providerIsBelieved,
  providerMaySignIn,
  type ProviderRow,
  selectProviders,
  signsIn,
  type StoredProvider,
  toProvider,
} from "./identity_providers.ts";
export { activeOperatorToken, operatorGuard } from "./operator_guard.ts";
export {
  type ActiveOperatorToken,
  findOperatorToken,
  findOperatorTokens,
  insertOperatorToken,
  markOperatorTokenRevoked,
  type OperatorTokenRow,
  selectOperatorToken,
} from "./operator_tokens.ts";
export {
  effectiveNumber,
  existsOrganization,
  findEffectiveNumber,
  findOrganizationReference,
  hasRoomForMember,
  isOrganization,
  isSuspended,
  managersOf,
  numberColumns,
  openInvitation,
  organizationNumber,
  type OrganizationReference,
  pendingInvitation,
  planBudget,
  planFeatures,
} from "./organization_state.ts";
export {
  deletePortalSessionsBefore,
  endPortalSession,
  endReopenedPortalSession,
  findLivePortalSession,
  findPortalSessionOwner,
  insertPortalSession,
  openPortalSession,
  type PortalSessionOwnerRow,
} from "./portal_sessions.ts";
export { refuseWrite } from "./refused_writes.ts";
export {
  findEnteredAt,
  type SecondFactor,
  updateSessionAuthenticated,
  updateSessionAuthenticatedIfAudited,
  updateSessionConfirmed,
  updateSessionToken,
} from "./session_proofs.ts";
export {
  deleteExpiredSessions,
  deleteExpiredSignIns,
  deleteSessionOfUser,
  deleteSessions,
  deleteSessionsOfUser,
  endAllAccess,
  endLastingAccess,
  endReplacedSessions,
  findSessions,
  foundSessions,
  type FoundSessionsRow,
  insertAuditedSession,
  insertProviderSession,
  insertSession,
  listSessionsOfUser,
  liveSession,
  type NewSession,
  selectSession,
  type SessionBounds,
  updateSessionOrganization,
  updateSessionSeen,
} from "./sessions.ts";
export { hasTwoStep } from "./two_step.ts";
export { findUserCredentials, findUserCredentialsById, type UserCredentials } from "./user_credentials.ts";
