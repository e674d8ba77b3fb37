// The console's overview and the page about the running service.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import {
  assertError,
  createTestKey,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../../support/app/app.ts";
import { recordAll } from "../../../support/meter/usage.ts";
import { addLimit } from "../../../support/meter/limits.ts";
import { makeOperator, newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { addEndpoint } from "../../../support/webhooks/endpoints.ts";

const dayMs = 24 * 3_600_000;

/** Records `count` records of a product, `daysAgo` days and an hour ago. */
async function record(
  test: TestApp,
  person: TestPerson,
  { productSlug, count, daysAgo }: { productSlug: string; count: number; daysAgo: number },
): Promise<void> {
  const { fullKey: apiKey } = await createTestKey(test, person);
  const timestamp = new Date(test.now() - daysAgo * dayMs - 3_600_000).toISOString();
  const one = { productSlug, metric: "requests", quantity: 7, timestamp };
  await recordAll(test, { apiKey, records: Array(count).fill(one) });
}

const textOf = (html: string) =>
  html.replaceAll(/<[^>]*>/g, " ").replaceAll("\u2060", "").replaceAll(/\s+/g, " ");

testApp("the overview adds up the records of all organizations", async (test) => {
  const mara = await newOperator(test);
  const [ada, grace] = [await test.signUp("Ada"), await test.signUp("Grace")];
  await record(test, ada, { productSlug: "tiles", count: 3, daysAgo: 0 });
  await record(test, ada, { productSlug: "tiles", count: 2, daysAgo: 7 });
  await record(test, grace, { productSlug: "search", count: 5, daysAgo: 1 });
  await record(test, grace, { productSlug: "search", count: 4, daysAgo: 31 });
  const text = textOf((await openPage(test, "/operator", { person: mara })).html);
  assert.match(text, /Requests today 21 50% more than a week ago until 14:03/);
  assert.match(text, /Requests this month 70 150% more than October 1–21/);
  assert.match(text, /Active organizations today 1 of 3/);
  assert.match(text, /Active this month 2 100% more than October 1–21/);
  assert.match(text, /Nov 21, so far 21 0 21/);
  const rows = text.slice(text.indexOf("Top organizations"));
  assert.match(
    rows,
    /Ada’s organization org_\w+ 35 50\.0% New .*Grace’s organization org_\w+ 35 50\.0% 25\.0% more/,
  );
});

testApp(
  "the overview counts suspended organizations, and names those that still send requests",
  async (test) => {
    const mara = await newOperator(test);
    const [ada, grace] = [await test.signUp("Ada"), await test.signUp("Grace")];
    const keys = [await createTestKey(test, ada), await createTestKey(test, grace)];
    const suspended = sql`UPDATE organizations SET suspended_at = ${test.now()}
    WHERE id IN (${ada.organizationId}, ${grace.organizationId})`;
    await test.opened.database.write([suspended]);
    const send = ({ fullKey: apiKey }: { fullKey: string }) =>
      test.send("/api/v1/usage", { apiKey, json: { productSlug: "p", metric: "m", quantity: 1 } });
    // One who stopped within the first minutes doesn't count.
    for (const key of keys) await assertError(await send(key), 403, "organization_suspended");
    test.advance(10 * 60_000);
    for (const key of keys.slice(0, 1)) await assertError(await send(key), 403, "organization_suspended");
    const text = async () => textOf((await openPage(test, "/operator", { person: mara })).html);
    assert.match(
      await text(),
      /2 organizations are suspended 1 still sends requests, which are rejected: Ada’s organization View/,
    );
    test.advance(25 * 3_600_000);
    await makeOperator(test, mara);
    assert.match(await text(), /Needs attention 3 Email: failing/);
    assert.match(
      await text(),
      /No requests since then from: (Ada|Grace)’s organization , \w+’s organization View/,
    );
  },
);

testApp("the overview names organizations that have reached a hard limit", async (test) => {
  const mara = await newOperator(test);
  const [ada, grace] = [await test.signUp("Ada"), await test.signUp("Grace")];
  const keys = [await createTestKey(test, ada), await createTestKey(test, grace)];
  const { id } = await addLimit(test, {}, { per: "day", metric: "m", quantity: 5, mode: "hard" });
  const send = (key: number, quantity: number) =>
    test.send("/api/v1/usage", {
      apiKey: keys[key]?.fullKey ?? "",
      json: { productSlug: "p", metric: "m", quantity },
    });
  const text = async () => {
    // The overview is kept for half a minute.
    test.advance(30_000);
    return textOf((await openPage(test, "/operator", { person: mara })).html);
  };
  await send(0, 5);
  await send(1, 4);
  assert.match(await text(), /Ada’s organization has hit a hard limit .*rejected: M per day\./);
  assert.doesNotMatch(await text(), /Grace’s organization has hit/);
  await assertError(await send(1, 2), 429, "limit_exceeded");
  assert.match(await text(), /Grace’s organization has hit a hard limit/);
  // A higher limit is not reached; who was rejected is named for a day.
  await test.opened.database.write([sql`UPDATE usage_limits SET quantity_whole = 9 WHERE id = ${id}`]);
  assert.doesNotMatch(await text(), /Ada’s organization has hit/);
  test.advance(24 * 3_600_000);
  await makeOperator(test, mara);
  assert.doesNotMatch(await text(), /has hit a hard limit/);
});

testApp("without usage the overview says so", async (test) => {
  const mara = await newOperator(test);
  const text = textOf((await openPage(test, "/operator", { person: mara })).html);
  assert.match(text, /No usage this month/);
  assert.match(text, /Needs attention 1 Backups: off No backups are scheduled: BACKUP_DIR is not set\. View/);
  const json = { url: "https://1.1.1.1/", events: ["*"] };
  await (await test.send("/api/operator/webhooks", { cookie: mara.cookie, json })).body?.cancel();
  await test.opened.database.write([sql`UPDATE webhooks SET failing_since = ${test.now()}`]);
  const { html } = await openPage(test, "/operator", { person: mara });
  assert.match(textOf(html), /“1\.1\.1\.1” is failing Deliveries to “1\.1\.1\.1” have failed since Nov 21/);
});

testApp("emails that can't be sent need attention", async (test) => {
  await test.signUp();
  test.advance(3_600_000);
  const mara = await newOperator(test);
  const text = textOf((await openPage(test, "/operator", { person: mara })).html);
  assert.match(
    text,
    /Email: failing 2 emails could not be sent\. The oldest has been waiting for 60 minutes\./,
  );
});

testApp("the system page shows the version, the queue, the database, emails and backups", async (test) => {
  const mara = await newOperator(test);
  const { html } = await openPage(test, "/operator/system", { person: mara });
  const text = textOf(html);
  assert.match(html, /title="Data file [\d.]+ \w+, write-ahead log [\d.]+ \w+">[\d.]+ \w+</);
  assert.match(text, /Version 0\.0\.0 Deno \d+\./);
  assert.match(text, /HTTP threads 1 /);
  assert.match(text, /Recording queue 0 waiting OK/);
  assert.match(text, /Email 1 waiting · oldest \d+ ms OK/);
  assert.match(text, /Backups BACKUP_DIR is not set\. Off/);
});

testApp("a month without a statement needs attention, once months are closed", async (test) => {
  const mara = await newOperator(test);
  const page = async () => textOf((await openPage(test, "/operator", { person: mara })).html);
  assert.match(await page(), /Needs attention 1 Backups/);
  const closed = await test.send("/api/operator/statements", {
    cookie: mara.cookie,
    json: { period: "2026-09" },
  });
  assert.equal(closed.status, 201, await closed.text());
  assert.match(await page(), /October 2026 is not closed The month ended 20 days ago\./);
});

testApp(
  "the overview and one list have the failing webhooks of all customers, and no others",
  async (test) => {
    const mara = await newOperator(test);
    const [ada, grace] = [await test.signUp("Ada"), await test.signUp("Grace")];
    const create = async ({ organizationId }: TestPerson, host: string) =>
      (await addEndpoint(test, { organizationId, url: `https://${host}/events` })).id;
    const [failing, disabled] = [await create(ada, "billing.test"), await create(ada, "old.test")];
    await create(grace, "fine.test");
    const since = test.now() - 2 * dayMs;
    await test.opened.database.write([
      sql`UPDATE webhooks SET failing_since = ${since} WHERE id IN (${failing}, ${disabled})`,
      sql`UPDATE webhooks SET disabled_at = ${test.now()}, disabled_reason = 'failing' WHERE id = ${disabled}`,
    ]);
    const { html } = await openPage(test, "/operator", { person: mara });
    assert.match(textOf(html), /1 customer webhook is failing Deliveries fail for: Ada’s organization/);
    assert.ok(html.includes(`href="/operator/organizations/${ada.organizationId}/webhooks"`));
    const list = await openPage(test, "/operator/webhooks/failing", { person: mara });
    assert.match(list.html, new RegExp(`/${ada.organizationId}/webhooks/${failing}"[^]*billing.test`));
    assert.ok(!list.html.includes(disabled) && !list.html.includes(grace.organizationId));
    assert.equal((await openPage(test, "/operator/webhooks/failing", { person: ada })).status, 404);
  },
);
