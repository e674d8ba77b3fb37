// Relations between limits that other code relies on.
import assert from "node:assert/strict";
import { parseConfig } from "../../config.ts";
import { checkTimeoutMs } from "../../domain/check_limits.ts";
import * as limits from "../../domain/limits.ts";
import { idempotencyKeyForm, slugForm } from "../../domain/meter/usage_record.ts";

const relations: Readonly<Record<string, boolean>> = {
  "the longest password fits into a body, with any escapes":
    limits.passwordCharactersMax * 12 * 4 < limits.anonymousBodyBytesMax,
  "password lengths follow NIST SP 800-63B-4": limits.passwordCharactersMin >= 8 &&
    limits.passwordCharactersMax >= 64,
  "bodies of unknown senders are the smallest": limits.anonymousBodyBytesMax < limits.bodyBytesMax,
  "usage bodies are the largest": limits.usageBodyBytesMax > limits.bodyBytesMax,
  "beside one sender's part of the room for large bodies, another one's largest fits":
    limits.largeBodiesBytesMax / 4 >= limits.usageBodyBytesMax,
  "URLs are shorter than headers": limits.urlCharactersMax < limits.headerCharactersMax,
  "a redirect with the longest return URL, percent-encoded, and cleared cookies fits into response headers":
    3 * limits.returnToCharactersMax + limits.clearedCookiesCharactersMax + 2_000 <=
      limits.responseHeaderCharactersMax,
  "the longest email address follows RFC 5321": limits.emailCharactersMax === 254,
  "delays after failed sign-ins grow": limits.signInDelayMinMs < limits.signInDelayMaxMs,
  "a request in progress can send its whole body when descriptors run out":
    limits.retiredServerTimeoutMs > limits.bodyReadTimeoutMs + limits.unfinishedBodyGraceMs,
  "a check waits longer than for a lock": checkTimeoutMs > limits.databaseBusyTimeoutMs,
  "an account is delayed before its address is blocked":
    limits.signInFailuresFree < limits.addressFailuresMax,
  "a second step has no more attempts than there are before delays":
    limits.secondStepAttemptsMax <= limits.signInFailuresFree,
  "a passkey times out before the second step": limits.passkeyTimeoutMs <= limits.secondStepTimeoutMs,
  "the default page is no larger than the largest": limits.pageItemsDefault <= limits.pageItemsMax,
  "a batch fits into one commit, as it is atomic":
    limits.usageBatchRecordsMax <= limits.recorderCommitRecordsMax,
  "the queue holds several commits": limits.recorderQueueRecordsMax >= 2 * limits.recorderCommitRecordsMax,
  "the queue holds several of the largest bodies":
    limits.recorderQueueBytesMax >= 8 * limits.usageBodyBytesMax,
  "an organization gets at most a quarter of the queue":
    4 * limits.recorderOrganizationRecordsMax <= limits.recorderQueueRecordsMax &&
    4 * limits.recorderOrganizationBytesMax <= limits.recorderQueueBytesMax,
  "the queue of one of many threads holds the records of a commit, and the largest body":
    limits.recorderQueueRecordsMax / limits.autoHttpThreadsMax >= limits.recorderCommitRecordsMax &&
    limits.recorderQueueBytesMax / limits.autoHttpThreadsMax >= limits.usageBodyBytesMax,
  "one turn fits the largest request": limits.recorderQuantumRecordsMax >= limits.usageBatchRecordsMax &&
    limits.recorderQuantumBytesMax >= limits.usageBodyBytesMax,
  "a commit has turns of several organizations":
    limits.recorderCommitRecordsMax >= 4 * limits.recorderQuantumRecordsMax &&
    limits.recorderCommitBytesMax >= 4 * limits.recorderQuantumBytesMax,
  "an hour is a whole number of rollups": 3_600_000 % limits.rollupQuarterMs === 0,
  "a query can span a month by the hour": limits.usageWindowsMax >= 31 * 24 + 1,
  "the longest range of the usage page can be shown by the month":
    limits.usageWindowsMax >= 12 * limits.usagePageYearsMax + 1,
  "a query can span two years by the day": limits.usageWindowsMax >= 2 * 366,
  "a session's last-seen time is written more often than sessions expire":
    limits.sessionSeenIntervalMs < 24 * 3_600_000,
  "a wait for the lock ends before a shutdown does": limits.databaseBusyTimeoutMs < limits.shutdownTimeoutMs,
  "a shutdown ends before the usual 10 s after SIGTERM": limits.shutdownTimeoutMs < 10_000,
  "a claim on an email outlasts the attempt to send it":
    limits.mailLeaseMs >= limits.mailSendTimeoutMs + 3 * limits.databaseBusyTimeoutMs,
  "timeouts for the mail server end before the attempt does":
    limits.mailConnectTimeoutMs + limits.mailSilenceTimeoutMs <= limits.mailSendTimeoutMs,
  "delays between attempts grow, and there are many attempts":
    limits.mailRetryMinMs < limits.mailRetryMaxMs && 10 * limits.mailRetryMaxMs < limits.mailGiveUpMs,
  "emails of other servers wait for at most half a minute": limits.mailPollIntervalMs <= 30_000,
  "the grace period for sending emails fits into a shutdown":
    limits.mailShutdownGraceMs + 1_000 < (limits.shutdownTimeoutMs - limits.shutdownNoticeMs) / 2,
  "names in subjects are shorter than the longest name":
    limits.mailSubjectNameCharactersMax < limits.nameCharactersMax,
  "clocks may differ by less than a rollup": limits.usageTimestampFutureMaxMs < limits.rollupQuarterMs,
};

for (const [name, isTrue] of Object.entries(relations)) {
  Deno.test(`limits: ${name}`, () => assert.ok(isTrue));
}

Deno.test("limits: all are positive integers", () => {
  for (const [name, value] of Object.entries(limits)) {
    assert.ok(Number.isSafeInteger(value) && value > 0, `${name} is ${value}`);
  }
});

Deno.test("limits: names end with their unit, or with what they count", () => {
  for (const name of Object.keys(limits)) {
    assert.match(name, /(Ms|Seconds|Bytes|Characters|Max|Min|Default|Free)$/, name);
  }
});

Deno.test("limits: records are kept for longer than timestamps may be in the past", () => {
  const day = 24 * 3_600_000;
  const keep = (days: number) => parseConfig({ USAGE_RETENTION_DAYS: String(days) }, { isTerminal: false });
  const daysBack = limits.usageTimestampPastMaxMs / day;
  assert.ok("faults" in keep(daysBack), "records could be deleted as soon as they are accepted");
  assert.ok("config" in keep(daysBack + 1));
});

Deno.test("limits: a full batch with the longest names and keys fits into a usage body", () => {
  const record = {
    productSlug: "p".repeat(64),
    metric: "m".repeat(64),
    quantity: Number.MAX_SAFE_INTEGER,
    timestamp: "2026-11-21T14:03:11.250+05:45",
    idempotencyKey: "k".repeat(limits.idempotencyKeyCharactersMax),
  };
  const body = JSON.stringify({ records: Array(limits.usageBatchRecordsMax).fill(record) });
  assert.ok(body.length <= limits.usageBodyBytesMax, `${body.length} bytes`);
});

Deno.test("limits: a record with the most properties fits into a usage body", () => {
  const property = limits.usagePropertyNameCharactersMax + limits.usagePropertyValueCharactersMax;
  // At most six bytes per character in JSON: \u0000.
  const bytes = 6 * (2 * 64 + limits.idempotencyKeyCharactersMax + limits.usagePropertiesMax * property) +
    1_000;
  assert.ok(bytes <= limits.usageBodyBytesMax);
});

Deno.test("limits: slugs and idempotency keys have the documented lengths", () => {
  assert.ok(slugForm.test("a".repeat(64)) && !slugForm.test("a".repeat(65)) && !slugForm.test(""));
  const longest = "k".repeat(limits.idempotencyKeyCharactersMax);
  assert.ok(
    idempotencyKeyForm.test(longest) && !idempotencyKeyForm.test(`${longest}k`) &&
      !idempotencyKeyForm.test(""),
  );
});
