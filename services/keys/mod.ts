// API keys and the portal sessions that let products show them: creating, listing, rotating, revoking, leaks, reminders. A revoked
// key is rejected on the very next request.
export { importApiKeys } from "./api_key_import.ts";
export {
  listChosenKeys,
  listKeyLines,
  listNewestKeys,
  listUnusedKeys,
  revokeApiKeys,
  revokeUnusedKeys,
} from "./api_key_list.ts";
export {
  accessToApiKey,
  changeApiKey,
  countActiveApiKeys,
  getApiKey,
  getApiKeyLineage,
  keysOpenTo,
  keysSeenBy,
  listApiKeys,
  listApiKeysByExternalId,
  revokeApiKey,
} from "./api_keys.ts";
export { keysWork } from "./background.ts";
export { requireGithubSignature } from "./github_keys.ts";
export { reportLeakedKeys } from "./leaked_keys.ts";
export {
  createApiKey,
  type CreatedApiKey,
  FormSentError,
  readDefaultBudget,
  rotateApiKey,
} from "./new_api_keys.ts";
export {
  createPortalSession,
  endPortalSession,
  findPortalSession,
  openPortalSession,
  portalSessionAccess,
} from "./portal_sessions.ts";
