// What leaves the program: events, webhooks with their deliveries, and emails. A row is written in the batch of the change that
// caused it, so that a crash loses none.
// Tables: event_cursor, events, link_tokens, mail_budgets, outbox, webhook_attempts, webhook_days, webhook_deliveries, webhooks.
export {
  type EventRow,
  findUnmailedEvents,
  insertChangeEvent,
  insertEvent,
  insertEvents,
  isUnmailed,
  markMailed,
} from "./events.ts";
export {
  deleteLinks,
  findLinkToken,
  findPendingEmail,
  insertLinkToken,
  type NewLinkToken,
  useTurnOffLink,
  validLink,
} from "./link_tokens.ts";
export { takeMail } from "./mail_budgets.ts";
export { insertMails } from "./mails.ts";
export { findDeliveriesOfEvent, findWebhooksByText } from "./search.ts";
export { markWebhooksDeleted } from "./webhooks.ts";
