// Statements that every route and the background work run: they find their rows by a key, however many rows others have.
import assert from "node:assert/strict";
import { operatorScopes } from "../../domain/access/operator_scope.ts";
import { startTestApp, type TestApp } from "../support/app/app.ts";
import { scanFinder, StatementNotes } from "../support/database/row_scans.ts";
import { makeOperator, newOperatorToken } from "../support/operators/operators.ts";
import { type Caller, newScene, run } from "../support/people/scene.ts";
import { backgroundWork } from "../../commands/serve/background_work.ts";
import { send, table } from "../routes/authorization/tries.ts";

/** Tables that have few rows, no matter what customers do: those of the catalogue, cursors, and those of a group of records. */
const small =
  /^(\w+_cursor|sqlite_sequence|record_id_key|kept_event_count|event_mappings|products|product_metrics|plans|statements|oauth_clients|oauth_resources|oauth_signing_keys|operator_tokens|usage_aggregations|usage_dimensions|usage_(dimension_|unique_|limit_|value_)?added|usage_limit_refused|usage_hold_requests|usage_holds_ending|timezone_offsets|schema_migrations)\b/;

/** Scans that are right, each with its reason. */
const right: readonly { scan: RegExp; text: RegExp; reason: string }[] = [
  {
    scan: /^api_key_outcomes/,
    text: /SELECT min\(hour\) FROM api_key_outcomes WHERE .* UNION ALL/,
    reason: "reads the first hour, and each further one by its key",
  },
  { scan: /^audit_events/, text: /ORDER BY at LIMIT 1$/, reason: "reads the oldest" },
  { scan: /^event_faults/, text: /SELECT max\(number\) FROM event_faults/, reason: "reads the newest" },
  { scan: /^event_subjects/, text: /ORDER BY s.number DESC LIMIT/, reason: "reads the newest" },
  { scan: /^events/, text: /SELECT seq FROM events ORDER BY seq LIMIT/, reason: "reads some of the oldest" },
  { scan: /^events/, text: /SELECT coalesce\(max\(seq\), 0\) FROM events/, reason: "reads the newest" },
  {
    scan: /^limit_rechecks/,
    text: /(EXISTS \(SELECT 1 FROM limit_rechecks\)|ORDER BY number LIMIT 1)/,
    reason: "reads one",
  },
  { scan: /^organizations/, text: /SELECT min\(number\) FROM organizations/, reason: "reads the oldest" },
  { scan: /^outbox/, text: /ORDER BY due_at LIMIT/, reason: "reads some of the first" },
  {
    scan: /^usage_dimension_values/,
    text: /SELECT max\(number\) FROM usage_dimension_values/,
    reason: "reads the newest",
  },
  { scan: /^usage_grant_accounts/, text: /EXISTS \(SELECT 1 FROM usage_grant_accounts/, reason: "reads one" },
  {
    scan: /^usage_holds$/,
    text: /WHERE true ORDER BY h\.number DESC LIMIT/,
    reason: "reads some of the newest of all organizations",
  },
  { scan: /^usage_limits /, text: /EXISTS \(SELECT 1 FROM usage_limits\)/, reason: "reads one" },
  {
    scan: /^usage_limits_removed/,
    text: /SELECT min\(number\) FROM usage_limits_removed/,
    reason: "reads the oldest",
  },
  { scan: /^usage_records/, text: /ORDER BY seq LIMIT 1$/, reason: "reads the oldest" },
  { scan: /^usage_records/, text: /SELECT max\(r\.seq\) FROM usage_records/, reason: "reads the newest" },
  {
    scan: /^usage_rollups_monthly/,
    text: /SELECT min\(month\) FROM usage_rollups_monthly UNION ALL/,
    reason: "reads the first month, and each further one by its key",
  },
  {
    scan: /^webhook_deliveries/,
    text: /FROM webhook_deliveries ORDER BY number LIMIT/,
    reason: "reads some of the oldest",
  },
];

async function useRoutes(test: TestApp, caller: Caller, notes: StatementNotes): Promise<void> {
  for (const [route, entry] of Object.entries(table)) {
    if (route === "GET /static/*") continue;
    const scene = await newScene(test, caller);
    if (caller === "operator") await makeOperator(test, scene.me);
    const operatorToken = caller === "operatorToken"
      ? (await newOperatorToken(test, operatorScopes)).fullToken
      : undefined;
    const { attempt, tokenAttempt } = entry;
    for (const prepare of [attempt, ...operatorToken !== undefined && tokenAttempt ? [tokenAttempt] : []]) {
      const attempt = await prepare?.(scene) ?? {};
      await notes.during(async () => {
        const response = await send(scene, { route, attempt, caller, operatorToken });
        await response.body?.cancel();
      });
    }
  }
}

Deno.test("no statement reads all rows of a table that grows, or changes any number of rows", async () => {
  const notes = new StatementNotes();
  const test = await startTestApp({ API_KEY_REQUESTS_PER_SECOND: "0", METRICS_TOKEN: "" }, {
    open: () => notes.open(),
  });
  try {
    for (const caller of ["owner", "operator", "operatorToken", "apiKey", "nobody"] as const) {
      await useRoutes(test, caller, notes);
    }
    await run(test, "UPDATE usage_refills SET write_at = 1 WHERE voided_at IS NULL");
    await notes.during(() => workInBackground(test));
    const scansOf = await scanFinder(test.opened.database);
    const faults = [];
    for (const statement of notes.noted.values()) {
      const text = statement.sql.replaceAll(/\s+/g, " ").trim();
      for (const scan of await scansOf(statement)) {
        // Reading ends at the limit, or with the request's slice. Writing holds up all other writers.
        if (/ in a range$/.test(scan) && (/ LIMIT /.test(text) || text.startsWith("SELECT"))) continue;
        if (small.test(scan) || right.some((one) => one.scan.test(scan) && one.text.test(text))) continue;
        faults.push(`${scan}: ${text.slice(0, 300)}`);
      }
    }
    assert.ok(notes.noted.size > 450, `${notes.noted.size} statements`);
    assert.deepEqual(faults.sort(), []);
  } finally {
    await test.dispose();
  }
});

/** Does each kind of background work, until nothing is left to do. */
async function workInBackground(test: TestApp): Promise<void> {
  const log = { info: () => {}, warn: () => {} };
  const { withheld } = test.parts.mailWorker;
  const steps = backgroundWork(test.services, { log, withheld }).map(({ step }) => step);
  await test.parts.webhooks.deliverDue();
  await test.parts.mailWorker.deliverDue();
  for (let hours = 0; hours < 2; hours++) {
    for (const step of steps) {
      for (let count = 0; count < 50 && await step(); count++);
    }
    test.advance(60 * 86_400_000);
  }
}
