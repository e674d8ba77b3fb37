// Limits of events, webhook endpoints and deliveries.
const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export const webhooksOfOrganizationMax = 10;
export const webhooksOfOperatorsMax = 20;
export const alertsOfOrganizationMax = 20;
/** Emails about alerts to each owner and admin: as many as all alerts cause on a day by default. */
export const alertMailsPerDayMax = 40;
/** Names of event types that an endpoint lists. */
export const webhookEventNamesMax = 32;
export const webhookUrlCharactersMax = 2000;
export const webhookDescriptionCharactersMax = 200;
/** Percentages of a limit that notify. */
export const notifyPercentagesMax = 5;
export const notifyPercentMax = 1000;
/** Maximum size of an event's body. */
export const eventBytesMax = 20_000;
/** For which events, deliveries and their attempts are kept. */
export const eventKeptMs = 30 * dayMs;
/** Between searches for keys that expire soon, at most so many keys at a time. */
export const expiringKeysIntervalMs = minuteMs;
export const expiringKeysOfStepMax = 200;
/** The waits after failed attempts, each ±10%. There is one attempt more than waits. */
export const webhookRetryWaitsMs: readonly number[] = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
];
export const webhookRetryAfterMaxMs = 24 * hourMs;
/** The longest wait, if the clock isn't set back. */
export const webhookWaitMaxMs = 1.1 * webhookRetryAfterMaxMs;
/** For one attempt, from looking up the name to the status of the response. */
export const webhookAttemptTimeoutMs = 15 * secondMs;
/** For which no other server sends a delivery. Longer than an attempt takes. */
export const webhookLeaseMs = minuteMs;
/** An endpoint is disabled after this many failures in a row over this much time. */
export const webhookFailuresMax = 10;
export const webhookFailingMaxMs = 5 * dayMs;
/**
 * A request is slow from then on. An endpoint is slow after an attempt that was, or failed, and at first, until some attempts in a
 * row were quick. Slow endpoints have at most half of the requests of an organization and of a server.
 */
export const webhookSlowMs = 2 * secondMs;
export const webhookQuickAttempts = 5;
/** Requests at a time for one endpoint, for one organization, and for all of a server. */
export const webhookRequestsMax = 2;
export const webhookRequestsOfOrganizationMax = 4;
export const webhookRequestsOfServerMax = 64;
/** Requests of a server at a time with those that are slow, which take at most half of the places from others. */
export const webhookSlowRequestsOfServerMax = 4 * webhookRequestsOfServerMax;
/** Deliveries of one endpoint that wait; then the oldest fail. */
export const webhookWaitingMax = 10_000;
export const webhookReplayDeliveriesMax = 10_000;
/** Maximum for an organization, or for operators. */
export const webhookReplaysPerMinuteMax = 20;
export const webhookReplayedPerHourMax = 20_000;
/** For which an old secret signs too, by default and at most. */
export const webhookOldSecretMs = dayMs;
export const webhookOldSecretMaxMs = 7 * dayMs;
/** Between looks of the worker for events and deliveries if nothing wakes it. */
export const webhookPollIntervalMs = minuteMs;
/** For requests in progress when the server stops. */
export const webhookShutdownGraceMs = 3 * secondMs;
/** Wait before an endpoint whose secret can't be decrypted is tried again. */
export const webhookUnreadableWaitMs = 5 * minuteMs;
/** Tests of one owner's webhooks. */
export const webhookTestsPerMinuteMax = 10;
/** Tests of one person, or operator token, and of a server at a time, besides its other requests. */
export const webhookTestsOfPersonMax = 2;
export const webhookTestsOfServerMax = 64;
/** Names of hosts that are looked up for one owner when endpoints are added or changed. */
export const webhookNamesPerMinuteMax = 20;
/** Emails to an organization, or to operators, because endpoints were disabled. */
export const webhookDisabledMailsPerDayMax = 10;
/** Deliveries that the metrics count; more are reported as this many. */
export const webhookDeliveriesCountedMax = 100_000;
export const webhookReplayIdsMax = 100;
/** Deliveries of a replay that are written at a time. */
export const webhookReplayStepMax = 1_000;
/** Kept of a delivery, the newest. */
export const deliveryAttemptsMax = 100;
export const webhookHealthDays = 14;
/** Failing endpoints of all customers that the console lists. */
export const failingWebhooksMax = 100;
