// Limits that belong together: each relation is one that something else relies on.
import assert from "node:assert/strict";
import { parseConfig } from "../../config.ts";
import * as limits from "../../domain/limits.ts";
import { idempotencyKeyForm, slugForm } from "../../domain/meter/usage_record.ts";

const relations: Readonly<Record<string, boolean>> = {
  "the longest password fits a body, however its characters are written":
    limits.passwordCharactersMax * 12 * 4 < limits.anonymousBodyBytesMax,
  "passwords have a range of lengths that NIST SP 800-63B-4 asks for": limits.passwordCharactersMin >= 8 &&
    limits.passwordCharactersMax >= 64,
  "a stranger's body is the smallest": limits.anonymousBodyBytesMax < limits.bodyBytesMax,
  "a usage body is larger than any other": limits.usageBodyBytesMax > limits.bodyBytesMax,
  "the address of a request is part of what its headers may take":
    limits.urlCharactersMax < limits.headerCharactersMax,
  "a redirect with the longest address to return to, percent-encoded, and cleared cookies fit an answer's headers":
    3 * limits.returnToCharactersMax + limits.clearedCookiesCharactersMax + 2_000 <=
      limits.responseHeaderCharactersMax,
  "the longest e-mail address is that of RFC 5321": limits.emailCharactersMax === 254,
  "delays after failed sign-ins grow": limits.signInDelayMinMs < limits.signInDelayMaxMs,
  "a request in progress when descriptors run out may send its whole body":
    limits.retiredServerTimeoutMs > limits.bodyReadTimeoutMs + limits.unfinishedBodyGraceMs,
  "a check waits longer than for a held lock": limits.checkTimeoutMs > limits.databaseBusyTimeoutMs,
  "an account is slowed down before its address is": limits.signInFailuresFree < limits.addressFailuresMax,
  "the second step of one sign-in has no more attempts than come before the delays":
    limits.secondStepAttemptsMax <= limits.signInFailuresFree,
  "a passkey is asked within the time that its second step has":
    limits.passkeyTimeoutMs <= limits.secondStepTimeoutMs,
  "a page has at most as many items as may be asked for": limits.pageItemsDefault <= limits.pageItemsMax,
  "all active keys fit on one page": limits.activeApiKeysMax <= limits.pageItemsMax,
  "a batch is never split over two commits, as it is all or nothing":
    limits.usageBatchRecordsMax <= limits.recorderCommitRecordsMax,
  "the queue holds several commits": limits.recorderQueueRecordsMax >= 2 * limits.recorderCommitRecordsMax,
  "the queue holds several of the largest bodies":
    limits.recorderQueueBytesMax >= 8 * limits.usageBodyBytesMax,
  "no organization can have more than a quarter of the queue":
    4 * limits.recorderShareRecordsMax <= limits.recorderQueueRecordsMax &&
    4 * limits.recorderShareBytesMax <= limits.recorderQueueBytesMax,
  "one turn takes the largest request": limits.recorderTurnRecordsMax >= limits.usageBatchRecordsMax &&
    limits.recorderTurnBytesMax >= limits.usageBodyBytesMax,
  "several organizations have a turn in each commit":
    limits.recorderCommitRecordsMax >= 4 * limits.recorderTurnRecordsMax &&
    limits.recorderCommitBytesMax >= 4 * limits.recorderTurnBytesMax,
  "an hour is a whole number of rollups": 3_600_000 % limits.rollupQuarterMs === 0,
  "a month can be asked for by the hour": limits.usageWindowsMax >= 31 * 24 + 1,
  "the most years that the usage page takes can be shown by the month":
    limits.usageWindowsMax >= 12 * limits.usagePageYearsMax + 1,
  "two years can be asked for by the day": limits.usageWindowsMax >= 2 * 366,
  "a session's last sight is written more often than it can end":
    limits.sessionSeenIntervalMs < 24 * 3_600_000,
  "a wait for the lock ends before the program must": limits.databaseBusyTimeoutMs < limits.shutdownTimeoutMs,
  "the program ends before those who sent SIGTERM lose patience, after 10 s":
    limits.shutdownTimeoutMs < 10_000,
  "a mail is another instance's only after its attempt has ended, with time to note how":
    limits.mailLeaseMs >= limits.mailSendTimeoutMs + 3 * limits.databaseBusyTimeoutMs,
  "a mail server that is silent is left before the attempt ends":
    limits.mailConnectTimeoutMs + limits.mailSilenceTimeoutMs <= limits.mailSendTimeoutMs,
  "delays between attempts grow, and there are many before a mail is given up":
    limits.mailRetryMinMs < limits.mailRetryMaxMs && 10 * limits.mailRetryMaxMs < limits.mailGiveUpMs,
  "another instance's mail waits for half a minute at most": limits.mailPollIntervalMs <= 30_000,
  "a mail that is on its way ends before the program must, and can be noted":
    limits.mailShutdownGraceMs + 1_000 < (limits.shutdownTimeoutMs - limits.shutdownNoticeMs) / 2,
  "a name in a subject is shorter than any may be":
    limits.mailSubjectNameCharactersMax < limits.nameCharactersMax,
  "clocks may differ by less than a rollup": limits.usageTimestampFutureMaxMs < limits.rollupQuarterMs,
};

for (const [promise, isKept] of Object.entries(relations)) {
  Deno.test(`limits: ${promise}`, () => assert.ok(isKept));
}

Deno.test("limits: every one is a positive whole number", () => {
  for (const [name, value] of Object.entries(limits)) {
    assert.ok(Number.isSafeInteger(value) && value > 0, `${name} is ${value}`);
  }
});

Deno.test("limits: every name ends with its unit, or with what it counts", () => {
  for (const name of Object.keys(limits)) {
    assert.match(name, /(Ms|Seconds|Bytes|Characters|Max|Min|Default|Free)$/, name);
  }
});

Deno.test("limits: raw records are kept for longer than a timestamp may lie back", () => {
  const day = 24 * 3_600_000;
  const keep = (days: number) => parseConfig({ USAGE_RETENTION_DAYS: String(days) }, { isTerminal: false });
  const daysBack = limits.usageTimestampPastMaxMs / day;
  assert.ok("faults" in keep(daysBack), "a record could be deleted as soon as it is accepted");
  assert.ok("config" in keep(daysBack + 1));
});

Deno.test("limits: a full batch with the longest names and keys fits a usage body", () => {
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

Deno.test("limits: one record with all that it may have fits a usage body", () => {
  const property = limits.usagePropertyNameCharactersMax + limits.usagePropertyValueCharactersMax;
  // Six bytes a character: \u0000 is the longest form in JSON.
  const bytes = 6 * (2 * 64 + limits.idempotencyKeyCharactersMax + limits.usagePropertiesMax * property) +
    1_000;
  assert.ok(bytes <= limits.usageBodyBytesMax);
});

Deno.test("limits: the forms of slugs and idempotency keys have the lengths that are promised", () => {
  assert.ok(slugForm.test("a".repeat(64)) && !slugForm.test("a".repeat(65)) && !slugForm.test(""));
  const longest = "k".repeat(limits.idempotencyKeyCharactersMax);
  assert.ok(
    idempotencyKeyForm.test(longest) && !idempotencyKeyForm.test(`${longest}k`) &&
      !idempotencyKeyForm.test(""),
  );
});
