// Who acts and whether they may: sessions, credentials with their limits on guesses, permissions, the guarded writer, and the audit
// log. Every verb of the other subjects gets its access here and writes through it.
export { accessWork } from "./background.ts";
export {
  type Access,
  accessTo,
  activeAccess,
  isOperator,
  may,
  type MemberAccess,
  type OperatorAccess,
  operatorAccess,
  operatorAccessTo,
  organizationIdOf,
  type PortalSessionAccess,
  requirePermission,
  resolveOrganization,
  seesOperators,
} from "./access.ts";
export {
  type AuditFilter,
  listAuditActors,
  listAuditEvents,
  noteDenied,
  noteDeniedTokens,
  noteLimitedApiKey,
  parseAuditCursor,
  readAuditCsv,
} from "./audit.ts";
export { type Change, changesBatch, rowOf, writeAndRead, writeChange } from "./change.ts";
export { type About, Credentials, rateLimited, requireAllowed, sessionSubject } from "./credentials.ts";
export {
  acceptOperatorToken,
  hasOperatorSignIn,
  requireOperatorAccount,
  requireOperatorToken,
} from "./operator_access.ts";
export { needsRehash } from "./password_hasher.ts";
export { hasRecentAuthentication, requireRecentAuthentication } from "./recent_authentication.ts";
export type { FoundTokens } from "./session_search.ts";
export {
  derivedToken,
  hashToken,
  newSession,
  newToken,
  sessionBounds,
  sessionIdleMs,
  sessionMaxMs,
  wellFormedHash,
  wellFormedHashes,
} from "./session_tokens.ts";
export { actorOf, subjectOf, type Writer } from "./session_writes.ts";
