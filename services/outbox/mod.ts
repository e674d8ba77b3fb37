// What leaves the program: webhook endpoints and deliveries, emails, and requests to addresses that customers choose. Workers send
// what db/outbox has, at least once, and no organization delays another.
export { AddressGuard } from "./address_guard.ts";
export { outboxWork } from "./background.ts";
export { listEvents } from "./events.ts";
export { getJson } from "./guarded_request.ts";
export { type DevelopmentMail, linkAddress, Mail, mailMode } from "./mail.ts";
export type { RequestedMail } from "./mail_budgets.ts";
export { MailError, verifySmtp } from "./mail_transport.ts";
export {
  type ProviderFetch,
  providerFetch,
  type ProviderFetchParts,
  ProviderUnreachableError,
} from "./provider_fetch.ts";
export { sendTestEvent } from "./test_delivery.ts";
export { findTxtRecords } from "./txt_records.ts";
export { post } from "./post.ts";
export { ownerForOperator, ownerScope, type WebhookOwner } from "./webhook_owner.ts";
export { type CustomerWebhook, getWebhook, listFailingOfCustomers, listFailingWebhooks } from "./webhooks.ts";
export * as deliveries from "./deliveries.ts";
export * as webhooks from "./webhooks.ts";
