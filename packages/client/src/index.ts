// @gatehouse/client, for a product's server.
export { Gatehouse } from "./gatehouse.ts";
export type {
  GatehouseOptions,
  Introspection,
  InvalidKey,
  KeyVerification,
  ValidKey,
  VerifyOptions,
  VerifyUsage,
} from "./gatehouse.ts";
export type { Held, HeldUsage, Hold, HoldOptions, HoldTerms, Settled } from "./holds.ts";
export { Meter } from "./meter/meter.ts";
export type {
  MeterOptions,
  MeterProblem,
  MeterProblemKind,
  MeterStats,
  SentRecord,
  Usage,
} from "./meter/meter.ts";
export { ApiError, ConnectionError, GatehouseError, RateLimitError, TimeoutError } from "./errors.ts";
export type { ErrorDetail } from "./errors.ts";
export type { LimitStanding } from "./api.ts";
export type { ModelUsage, SentBody } from "./sent_body.ts";
export { verifyWebhook, WebhookError } from "./webhooks.ts";
export type { WebhookDelivery, WebhookEvent, WebhookFault } from "./webhooks.ts";
export type { RequestHeaders, RequestLike } from "./session_cookie.ts";
export type { Membership, Role, SessionUser, SignedIn, SignedOut, User } from "./browser.d.ts";
