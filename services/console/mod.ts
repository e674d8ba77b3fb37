// What spans all subjects: what operators do with organizations and people, the overviews, search, and exports.
export { exportRecords, exportStatements } from "./exports.ts";
export { organizationLimitsBelowUse, planLimitsBelowUse } from "./limits_below_use.ts";
export { createUser } from "./new_user.ts";
export {
  createOperatorToken,
  getOperatorToken,
  listOperatorTokens,
  type NewToken,
  revokeOperatorToken,
} from "./operator_tokens.ts";
export { addOperator, listOperators, removeOperator } from "./operators.ts";
export { addNote, deleteNote, listNotes } from "./organization_notes.ts";
export {
  changeOrganization,
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  readOrganizationCsv,
} from "./organizations.ts";
export { type PasswordLink, resetUserPassword, sendPasswordReset } from "./passwords.ts";
export { readFirstSteps, readOverview } from "./portal_overview.ts";
export { searchAsMember, searchAsOperator, type SearchInput } from "./search.ts";
export { operatorUsageInput, readForOperator, sumUsageOfOrganizations } from "./usage.ts";
export { type OperatorUsageInput, recordUsageAsOperator } from "./usage_recording.ts";
export { accessToRecord, listRecordsOfOrganizations } from "./usage_records.ts";
export { allUsers, getUser } from "./user_list.ts";
export { disableUser, enableUser, endSessionsOfUser } from "./users.ts";
export { startViewing, viewingAccess } from "./viewing.ts";
