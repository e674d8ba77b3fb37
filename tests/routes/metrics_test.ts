// GET /metrics: the values, labels without client input, and a format that promtool accepts.
import assert from "node:assert/strict";
import { collectAll, MetricSet, metricsText } from "../../routes/metric_set.ts";
import { assertError, createTestKey, startTestApp, type TestApp, testApp } from "../support/app/app.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { addEndpoint, addEvents, webhookSettings, withReceiver } from "../support/webhooks/endpoints.ts";
import { withOtherThread } from "../support/app/other_thread.ts";
import { isMissing } from "../support/runner/needs.ts";
import { assertOutcome, assertRows } from "../support/app/rows.ts";
import { asOperator, assertSent } from "../support/operators/operator_api.ts";
import { recordOne, recordWith } from "../support/meter/usage.ts";

/** @returns A function that returns the value of a sample by its name and labels; 0 for none. */
async function scrape(test: Pick<TestApp, "send">): Promise<(sample: string) => number> {
  const text = await (await test.send("/metrics")).text();
  const samples = new Map(
    text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
  return (sample) => samples.get(sample) ?? 0;
}

async function drop(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

testApp("counts requests, durations and errors by route pattern", async (test) => {
  const { cookie } = await test.signUp();
  const unknown = "/api/portal/api-keys/key_00000000000000000000000000000000";
  assert.equal(await drop(test.send(unknown, { method: "DELETE", cookie })), 404);
  assert.equal(await drop(test.send("/api/unknown/canary")), 404);
  assert.equal(
    await drop(test.send("/sign-in", { form: { email: "canary@example.com", password: "canary" } })),
    401,
  );
  const value = await scrape(test);
  const labels = 'method="DELETE",route="/api/portal/api-keys/:id"';
  assert.equal(value(`gatehouse_http_requests_total{${labels},status="404"}`), 1);
  assert.equal(value(`gatehouse_http_request_duration_seconds_count{${labels}}`), 1);
  assert.equal(value(`gatehouse_http_request_duration_seconds_bucket{${labels},le="+Inf"}`), 1);
  assert.equal(value('gatehouse_http_requests_total{method="GET",route="unmatched",status="404"}'), 1);
  assert.equal(value('gatehouse_http_errors_total{code="not_found"}'), 2);
  // Also for a page that shows the error in its form.
  assert.equal(value('gatehouse_http_errors_total{code="invalid_credentials"}'), 1);
});

testApp("counts usage records by result, commits, and emails that wait and for how long", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  for (const [quantity, status] of [[1, 201], [1, 200], [2, 409]] as const) {
    await assertOutcome(recordWith(test, fullKey, { quantity, idempotencyKey: "once" }), status);
  }
  const value = await scrape(test);
  for (const result of ["recorded", "duplicate", "conflict"]) {
    assert.equal(value(`gatehouse_usage_records_total{result="${result}"}`), 1, result);
  }
  assert.equal(value("gatehouse_recorder_commit_records_count"), 3);
  assert.equal(value("gatehouse_recorder_commit_records_sum"), 3);
  assert.ok(value("gatehouse_recorder_commit_duration_seconds_sum") > 0);
  // The email of the sign-up waits.
  test.advance(90_000);
  const before = await scrape(test);
  assert.equal(before("gatehouse_mail_outbox_emails"), 1);
  assert.equal(before("gatehouse_mail_outbox_oldest_seconds"), 90);
  await test.mails();
  const after = await scrape(test);
  assert.equal(after("gatehouse_mail_outbox_emails"), 0);
  assert.equal(after('gatehouse_mail_attempts_total{result="sent"}'), 1);
});

testApp(
  "shows attempts of webhooks by code and for how long, without addresses",
  (test) =>
    withReceiver(async (receiver) => {
      const { organizationId } = await test.signUp();
      const url = `${receiver.url}/canary?token=canary`;
      const sendOne = async (status: number) => {
        receiver.respond(() => new Response(null, { status }));
        await addEvents(test, organizationId);
        await test.parts.webhooks.deliverDue();
      };
      await addEndpoint(test, { organizationId, url });
      await sendOne(204);
      await sendOne(503);
      test.advance(60_000);
      const before = await scrape(test);
      assert.equal(before("gatehouse_webhook_deliveries_waiting"), 1);
      const dueSeconds = before("gatehouse_webhook_due_seconds");
      assert.ok(dueSeconds >= 54.5 && dueSeconds <= 55.5, String(dueSeconds));
      await sendOne(410);
      const text = await (await test.send("/metrics")).text();
      assert.deepEqual(text.match(/^gatehouse_webhook.* [1-9]\d*$/gm), [
        'gatehouse_webhook_attempts_total{code="delivered"} 1',
        'gatehouse_webhook_attempts_total{code="status"} 3',
        'gatehouse_webhooks_disabled_total{reason="gone"} 1',
      ]);
      for (const secret of ["canary", "127.0.0.1", "whk_", "dlv_", "evt_"]) {
        assert.ok(!text.includes(secret), secret);
      }
    }),
  webhookSettings,
);

testApp("shows the memory of the process and of its threads, and the version", async (test) => {
  const value = await scrape(test);
  assert.ok(value('gatehouse_build_info{version="0.0.0",deno="' + Deno.version.deno + '"}') === 1);
  const resident = value("process_resident_memory_bytes");
  assert.ok(resident > 1e6);
  const heap = value('gatehouse_http_thread_heap_bytes{thread="1"}');
  assert.ok(heap > 1e6 && heap < resident);
  if (Deno.build.os === "linux") assert.ok(value("process_open_fds") > 3);
});

testApp("never contains a name, an email address or an id", async (test) => {
  const person = await test.signUp("Canary");
  const { email, userId, organizationId } = person;
  const { fullKey, id } = await createTestKey(test, person, { name: "Canary" });
  await recordOne(test, fullKey, { productSlug: "canary-product", metric: "canary-metric" });
  const operator = await newOperatorToken(test);
  await assertRows(test, person, [
    [`DELETE /api/portal/organizations/${organizationId}/members/${userId}`, null, "409 last_owner"],
  ]);
  await assertSent(asOperator(test, operator.fullToken), [
    ["POST /organizations", { name: "Canary", externalId: "canary" }, "201"],
    ["GET /organizations/external:canary", undefined, "200"],
  ]);
  await drop(test.send("/canary?canary=canary", { method: "CANARY", headers: { "user-agent": "canary" } }));
  const text = await (await test.send("/metrics")).text();
  for (
    const secret of [/canary/i, email, userId, organizationId, id, fullKey, operator.fullToken, operator.id]
  ) {
    assert.ok(!new RegExp(secret).test(text), String(secret));
  }
  assert.ok(!test.logged().includes(operator.fullToken) && !test.logged().includes(fullKey));
});

testApp(
  "every thread responds with the sum of all, and values of the process once",
  (test) =>
    withOtherThread(test, async (other) => {
      const person = await test.signUp();
      const { fullKey: apiKey } = await createTestKey(test, person);
      const json = { productSlug: "tiles", metric: "requests", quantity: 1 };
      for (const { send } of [test, other, other]) {
        assert.equal(await drop(send("/api/v1/usage", { apiKey, json })), 201);
      }
      await test.mails();
      for (const thread of [test, other]) {
        const value = await scrape(thread);
        const labels = 'method="POST",route="/api/v1/usage"';
        assert.equal(value(`gatehouse_http_requests_total{${labels},status="201"}`), 3);
        assert.equal(value(`gatehouse_http_request_duration_seconds_bucket{${labels},le="+Inf"}`), 3);
        assert.equal(value(`gatehouse_http_request_duration_seconds_count{${labels}}`), 3);
        assert.equal(value('gatehouse_usage_records_total{result="recorded"}'), 3);
        assert.equal(value('gatehouse_mail_attempts_total{result="sent"}'), 1);
        assert.equal(value(`gatehouse_build_info{version="0.0.0",deno="${Deno.version.deno}"}`), 1);
      }
    }),
);

Deno.test("the oldest of all threads counts", async () => {
  const waiting = (seconds: number) => {
    const set = new MetricSet();
    set.gauge("oldest", { help: "Oldest.", value: () => seconds, aggregator: "max" });
    set.gauge("waiting", { help: "Waiting.", value: () => 1 });
    return () => set.collect();
  };
  const text = metricsText(await collectAll([waiting(1), waiting(3), waiting(2)]));
  assert.match(text, /^oldest 3$/m);
  assert.match(text, /^waiting 3$/m);
});

testApp("responds with an error rather than without a thread, but without the database", async (test) => {
  const silent = () => new Promise<never>(() => {});
  test.metricSources.push(() => collectAll([silent], { timeoutMs: 1 }).then(([values]) => values ?? []));
  await assertError(await test.send("/metrics"), 503, "unavailable");
  test.metricSources.pop();
  // Without the database, its metrics alone are left out.
  await test.opened.database.close();
  const value = await scrape(test);
  assert.ok(value("process_resident_memory_bytes") > 1e6);
  assert.equal(value("gatehouse_mail_outbox_emails"), 0);
});

Deno.test({
  name: "promtool accepts the metrics",
  ignore: isMissing("promtool"),
  fn: async () => {
    const test = await startTestApp();
    try {
      await test.signUp();
      const text = await (await test.send("/metrics")).text();
      const child = new Deno.Command("promtool", {
        args: ["check", "metrics"],
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      await new Blob([text]).stream().pipeTo(child.stdin);
      const { success, stdout, stderr } = await child.output();
      assert.ok(success, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
    } finally {
      await test.dispose();
    }
  },
});
