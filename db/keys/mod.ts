// API keys as their owners manage them: creating, importing, listing, rotating, revoking, and reminders of unused and expiring
// ones. Whether a key works is a condition of db/access.
// Table: key_reminder_cursor.
export { markApiKeyRevoked, revokeApiKeysAfter, revokeApiKeysCreatedBy } from "./api_keys.ts";
