// Reports of one organization don't block others, and a report ends when its client disconnects.
import assert from "node:assert/strict";
import { jobsOpenPerReaderMax } from "../../../../domain/limits.ts";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { manySums } from "../../../support/meter/many_sums.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { withOtherThread } from "../../../support/app/other_thread.ts";
import { poll } from "../../../support/runner/poll.ts";
import { recordOne, unlimited } from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";

const from = Date.UTC(2026, 10, 1);
const month = "?window=month&groupBy=productSlug,metric,apiKey";

/** An organization with many series, and an unread report on all of them. */
async function busyOrganization(test: TestApp, { series, hours = 1 }: { series: number; hours?: number }) {
  const person = await test.signUp();
  const { fullKey: apiKey, id: keyId } = await createTestKey(test, person);
  await test.opened.database.write(manySums({ series, hours, keyId, from }));
  const headers = { authorization: `Bearer ${apiKey}` };
  const url = `${test.config.baseUrl.origin}/api/v1/usage${month}`;
  // Checking each response against the OpenAPI document takes longer than the report.
  const report = async ({ app }: Pick<TestApp, "app"> = test) =>
    await app.fetch(new Request(url, { headers }));
  return { ...person, apiKey, report };
}

testApp(
  "a customer reads its usage while an operator adds up all organizations and closes a month",
  async (test) => {
    const { id: keyId } = await createTestKey(test, await test.signUp());
    const october = Date.UTC(2026, 9, 1);
    await test.opened.database.write(manySums({ series: 2_000, hours: 24, keyId, from: october }));
    // Sums of one metric are short, so the reports end without waiting for their client.
    await run(
      test,
      "UPDATE usage_series SET product_slug = metric, metric = 'requests' WHERE product_slug = 'many'",
    );
    const customer = await test.signUp();
    const { fullKey: apiKey } = await createTestKey(test, customer);
    await recordOne(test, apiKey);
    const { fullToken } = await newOperatorToken(test);
    const headers = { authorization: `Bearer ${fullToken}`, "content-type": "application/json" };
    const finished: string[] = [];
    const send = async (name: string, path: string, init: RequestInit = {}) => {
      const url = `${test.config.baseUrl.origin}/api/operator/${path}`;
      const response = await test.app.fetch(new Request(url, { ...init, headers }));
      const text = await response.text();
      assert.ok(response.ok, text);
      finished.push(name);
    };
    const closing = send("statement", "statements", {
      method: "POST",
      body: JSON.stringify({ period: "2026-10" }),
    });
    await poll(() => test.services.reports.counts.running > 0);
    const query = "usage?from=2026-10-01&to=2026-10-03&window=hour&groupBy=organization";
    const reports = Array.from({ length: 4 }, (_, n) => send(`report ${n}`, query));
    await poll(() => {
      const { running, waiting } = test.services.reports.counts;
      return running + waiting >= reports.length;
    });
    try {
      const own = await test.send(`/api/v1/usage${month}`, { apiKey });
      assert.equal((await own.json()).data[0].count, 1);
      assert.deepEqual(finished, []);
      const page = await test.send("/portal/usage", { cookie: customer.cookie });
      assert.match(await page.text(), /tiles/);
      // A month is closed in about the time of a page.
      assert.deepEqual(finished.filter((name) => name !== "statement"), []);
    } finally {
      await Promise.all([closing, ...reports]);
    }
  },
);

testApp("other requests are handled while an organization runs reports", async (test) => {
  const { report } = await busyOrganization(test, { series: 2_000 });
  const neighbour = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, neighbour);
  await recordOne(test, apiKey);
  let finished = 0;
  const reports = Array.from({ length: 30 }, () => report().finally(() => finished++));
  await poll(() => test.services.reports.counts.running > 0);
  for (let n = 0; n < 3; n++) {
    const me = await test.send("/api/auth/me", { cookie: neighbour.cookie });
    assert.equal((await me.json()).authenticated, true);
    await recordOne(test, apiKey);
    assert.ok(test.services.reports.counts.running <= 2);
  }
  const own = await test.send(`/api/v1/usage${month}`, { apiKey });
  assert.equal((await own.json()).data[0].count, 4);
  assert.ok(finished < reports.length, "all reports finished first");
  for (const response of await Promise.all(reports)) {
    assert.equal((await response.json()).data.length, 2_000);
  }
  assert.deepEqual(test.services.reports.counts, { running: 0, waiting: 0 });
}, unlimited);

testApp(
  "rejects a report over the limit of an organization's keys, but not those of its members and others",
  async (test) => {
    const { report, cookie } = await busyOrganization(test, { series: 1_000 });
    const { fullKey: neighbourKey } = await createTestKey(test, await test.signUp());
    // Their clients don't read, so none of them ends.
    const open = await Promise.all(Array.from({ length: jobsOpenPerReaderMax }, () => report()));
    assert.deepEqual(open.map(({ status }) => status), open.map(() => 200));
    assert.deepEqual(test.services.reports.counts, {
      running: 0,
      waiting: jobsOpenPerReaderMax,
    });
    const rejected = await report();
    assert.equal(rejected.headers.get("retry-after"), "1");
    await assertError(rejected, 503, "unavailable");
    const { usageRecords } = await (await test.send("/api/v1/usage/records", { apiKey: neighbourKey }))
      .json();
    assert.deepEqual(usageRecords, []);
    const page = await (await test.send("/portal/api-keys", { cookie })).text();
    assert.match(page, />Production</);
    assert.doesNotMatch(page, /Not available right now/);
    await open[0]?.body?.cancel();
    assert.equal((await (await report()).json()).data.length, 1_000);
    for (const { body } of open.slice(1)) await body?.cancel();
    assert.deepEqual(test.services.reports.counts, { running: 0, waiting: 0 });
  },
  unlimited,
);

testApp(
  "counts the reports of all threads together, until a thread closes",
  (test) =>
    withOtherThread(test, async (other) => {
      const { report } = await busyOrganization(test, { series: 1_000 });
      const half = jobsOpenPerReaderMax / 2;
      const unread = (thread: Pick<TestApp, "app">) =>
        Promise.all(Array.from({ length: half }, () => report(thread)));
      const open = [...await unread(test), ...await unread(other)];
      assert.deepEqual(open.map(({ status }) => status), open.map(() => 200));
      for (const thread of [test, other]) await assertError(await report(thread), 503, "unavailable");
      await other.services.close();
      open.push(...await unread(test));
      assert.deepEqual(open.slice(-half).map(({ status }) => status), open.slice(-half).map(() => 200));
      for (const { body } of open) await body?.cancel().catch(() => {});
    }),
  unlimited,
);

testApp("a report ends when its client disconnects", async (test) => {
  const { apiKey, cookie } = await busyOrganization(test, { series: 4_000, hours: 20 });
  const { promise: address, resolve: listening } = Promise.withResolvers<Deno.NetAddr>();
  const server = Deno.serve(
    { port: 0, onListen: listening },
    (request, info) => test.app.fetch(request, info),
  );
  try {
    const baseUrl = `http://127.0.0.1:${(await address).port}`;
    const gone = new AbortController();
    const { signal } = gone;
    const reports = Array.from(
      { length: 8 },
      () =>
        fetch(`${baseUrl}/api/v1/usage${month}`, { headers: { authorization: `Bearer ${apiKey}` }, signal }),
    );
    // A report that is partly read and exceeds all buffers.
    const file = `${baseUrl}/api/portal/usage.csv?window=hour&groupBy=productSlug,metric,apiKey`;
    const csv = await fetch(`${file}&from=2026-11-01&to=2026-11-02`, { headers: { cookie }, signal });
    assert.equal(csv.status, 200);
    const settled = Promise.allSettled(reports);
    gone.abort();
    await settled;
    await csv.body?.cancel().catch(() => {});
    await poll(() => {
      const { running, waiting } = test.services.reports.counts;
      return running + waiting === 0;
    });
    assert.equal(test.logged(), "");
  } finally {
    await server.shutdown();
  }
}, unlimited);
