// Pages of the audit log, and its sentences on other pages.
export { AuditSentence } from "./audit_table.tsx";
export { auditActorName } from "./audit_text.ts";
