// Pages of webhooks, and emails.
export { webhookHref } from "./webhook.tsx";
