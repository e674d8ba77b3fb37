// The receivers in examples/webhooks/: each with real requests of the worker, and a real server in place of the chat or the billing system.
import assert from "node:assert/strict";
import type { EventType } from "../../domain/outbox/event_types.ts";
import { accessHandler, AccessList, type Use } from "../../examples/webhooks/access.ts";
import { Billing, billingHandler } from "../../examples/webhooks/billing.ts";
import { chatHandler } from "../../examples/webhooks/chat.ts";
import { createTestKey, startTestApp, type TestApp } from "../support/app/app.ts";
import { freePort } from "../support/database/sqld.ts";
import { addLimit } from "../support/meter/limits.ts";
import { asBilling, customer } from "../support/meter/statements.ts";
import { recordOne, recordWith, voidOne } from "../support/meter/usage.ts";
import { asOperator } from "../support/operators/operator_api.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import {
  addEndpoint,
  anotherWorker,
  type TestEndpoint,
  webhookSettings,
} from "../support/webhooks/endpoints.ts";

const day = 24 * 3_600_000;

type Handler = (request: Request) => Response | Promise<Response>;

/** Serves a handler on a free port while a function runs. */
async function serving(handler: Handler, use: (url: string) => Promise<void>): Promise<void> {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handler);
  try {
    await use(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

/** Runs a test with an app at a real address. */
function recipe(name: string, run: (test: TestApp, url: string) => Promise<void>): void {
  Deno.test(name, async () => {
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const test = await startTestApp({ ...webhookSettings, PORT: String(port), BASE_URL: url });
    const server = Deno.serve(
      { port, hostname: "127.0.0.1", onListen() {} },
      (request) => test.app.fetch(request),
    );
    try {
      await run(test, url);
    } finally {
      await server.shutdown();
      await test.dispose();
    }
  });
}

recipe("the chat gets a sentence for each event, also after it was unavailable", async (test) => {
  const { organizationId, apiKey, record } = await adaWithLimit(test, 1000);
  const messages: string[] = [];
  let isUp = true;
  const chat: Handler = async (request) => {
    if (!isUp) return new Response(null, { status: 503 });
    messages.push((await request.json()).text);
    return new Response("ok");
  };
  await serving(chat, async (chatUrl) => {
    // The secret is known only after the receiver has an address.
    let handler: Handler = () => new Response(null, { status: 503 });
    await serving((request) => handler(request), async (url) => {
      const endpoint = await addEndpoint(test, { organizationId, url, events: ["limit.*"] });
      handler = chatHandler({ secret: endpoint.secret, clock: test.now, chatUrl });
      const worker = anotherWorker(test);
      isUp = false;
      await record(800.5);
      await worker.deliverDue();
      assert.deepEqual(messages, []);
      isUp = true;
      test.advance(10_000);
      await worker.deliverDue();
      const { id } = await record(199.5);
      await worker.deliverDue();
      await voidOne(test, { apiKey, id });
      await worker.deliverDue();
      await sendTest(test, endpoint, "limit.reached");
      assert.deepEqual(messages, [
        "Ada’s organization: limit.approaching, requests of tiles, 800.5 of 1,000 per month",
        "Ada’s organization: limit.reached, requests of tiles, 1,000 of 1,000 per month",
        "Ada’s organization: limit.cleared, requests of tiles, 800.5 of 1,000 per month",
        "Test: Ada’s organization: limit.reached, tiles of maps, 100,000 of 100,000 per month",
      ]);
      const forged = new Request(url, { method: "POST", body: "{}", headers: { "webhook-id": "evt_1" } });
      assert.equal((await handler(forged)).status, 400);
    });
  });
});

recipe(
  "access ends with limit.reached, and returns with limit.cleared and with the window",
  async (test, gatehouse) => {
    const ada = await adaWithLimit(test, 10);
    const { organizationId, apiKey, record } = ada;
    const list = new AccessList();
    let handler: Handler = () => new Response(null, { status: 503 });
    await serving((request) => handler(request), async (url) => {
      const endpoint = await addEndpoint(test, { organizationId: null, url, events: ["limit.*"] });
      handler = accessHandler(list, { secret: endpoint.secret, clock: test.now });
      const worker = anotherWorker(test);
      const requests = { productSlug: "tiles", metric: "requests" };
      const cutsOff = (use: Use, { days = 0, by = list } = {}) =>
        by.isCutOff(organizationId, use, test.now() + days * day);
      const limited = await createTestKey(test, ada);
      await addLimit(test, { apiKeyId: limited.id }, { per: "month", mode: "hard", quantity: 3 });
      const timestamp = new Date(test.now()).toISOString();
      await recordOne(test, limited.fullKey, { timestamp, quantity: 3 });
      await record(6);
      const tested = await sendTest(test, endpoint, "limit.reached");
      assert.ok(!list.isCutOff(tested.organization.id, tested.limit, Date.parse(tested.window.start)));
      assert.equal((await recordWith(test, apiKey, { quantity: 2 })).status, 429);
      await worker.deliverDue();
      assert.ok(!cutsOff(requests));
      const last = await record(1);
      await worker.deliverDue();
      assert.ok(cutsOff(requests));
      assert.ok(!cutsOff({ ...requests, productSlug: "search" }));
      assert.ok(!cutsOff({ ...requests, metric: "bytes" }));
      test.advance(1);
      await voidOne(test, { apiKey, id: last.id });
      await worker.deliverDue();
      assert.ok(!cutsOff(requests));
      test.advance(1);
      await record(1);
      await worker.deliverDue();
      assert.ok(cutsOff(requests));
      assert.ok(!cutsOff(requests, { days: 31 }));

      const { fullToken } = await newOperatorToken(test, ["events:read"]);
      const by = new AccessList();
      await by.load(gatehouse, fullToken);
      assert.ok(cutsOff(requests, { by }));
      assert.ok(!cutsOff(requests, { by, days: 31 }));
    });
  },
);

recipe(
  "each line of closed statements is charged once, by a system that forgets after a day",
  async (test, gatehouse) => {
    const { close } = await asBilling(test);
    const { fullToken: token } = await newOperatorToken(test, ["statements:read"]);
    const ada = await customer(test, "Ada");
    await ada.record("2026-10-25T00:00:00.000Z", { quantity: 5 });
    const mistake = await ada.record("2026-10-26T00:00:00.000Z", { quantity: 2 });
    const system = forgetfulBilling(test.now);
    const journal = await Deno.makeTempFile();
    await serving((request) => system.handler(request), async (billingUrl) => {
      const logged: string[] = [];
      const open = () =>
        new Billing({
          ...{ gatehouseUrl: gatehouse, token, billingUrl, journal, clock: test.now },
          log: (text) => logged.push(text),
        });
      let billing = open();
      let handler: Handler = () => new Response(null, { status: 503 });
      await serving((request) => handler(request), async (url) => {
        const endpoint = await addEndpoint(test, { organizationId: null, url, events: ["statement.*"] });
        const { secret } = endpoint;
        const worker = anotherWorker(test);
        const receive = () => handler = billingHandler(billing, { secret, clock: test.now });
        receive();
        await sendTest(test, endpoint, "statement.closed");
        await billing.sendAll();
        assert.equal(logged.length, 0);
        // A statement that doesn't exist doesn't stop the others.
        billing.note("stm_0");
        await close("2026-10");
        system.failAfterCharging = true;
        await worker.deliverDue();
        await billing.sendAll();
        // The same event again, and a restart, as after a kill.
        billing.close();
        billing = open();
        receive();
        system.failAfterCharging = false;
        await billing.sendAll();
        assert.deepEqual(system.charged(), { "tiles/requests": 7 });

        await voidOne(test, { apiKey: ada.apiKey, id: mistake.id });
        await ada.record("2026-11-20T00:00:00.000Z", { quantity: 1 });
        test.advance(31 * day);
        await test.opened.database.write([{
          sql: "UPDATE webhook_deliveries SET status = 'waiting', attempts = 0, due_at = 0",
          args: [],
        }]);
        await close("2026-11");
        await worker.deliverDue();
        await billing.sendAll();
        assert.deepEqual(system.charged(), { "tiles/requests": 6 });

        // A response that was lost, and a receiver that is back only after a day.
        await ada.record("2026-12-02T00:00:00.000Z", { quantity: 3 });
        test.advance(31 * day);
        await close("2026-12");
        system.failAfterCharging = true;
        await worker.deliverDue();
        await billing.sendAll();
        test.advance(2 * day);
        system.failAfterCharging = false;
        await billing.sendAll();
        assert.deepEqual(system.charged(), { "tiles/requests": 9 });
        assert.deepEqual([billing.uncertain().length, logged.some((text) => text.startsWith("Check line"))], [
          1,
          true,
        ]);
      });
      billing.close();
    });
    await Deno.remove(journal);
  },
);

for (const name of ["access", "billing", "chat"]) {
  Deno.test(`${name}.ts names the setting without which it doesn't start`, async () => {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "-A", `examples/webhooks/${name}.ts`, "0", ":memory:"],
      env: { WEBHOOK_SECRET: "" },
    }).output();
    assert.deepEqual([code, new TextDecoder().decode(stderr)], [1, "Set WEBHOOK_SECRET.\n"]);
  });
}

/** Sends an example, as “Send test” does. @returns The event's data. */
async function sendTest(test: TestApp, { id }: TestEndpoint, type: EventType) {
  const { fullToken } = await newOperatorToken(test, ["webhooks:write"]);
  const { status, body } = await asOperator(test, fullToken)(`POST /webhooks/${id}/test`, { type });
  assert.deepEqual([status, body.delivery?.status], [200, "delivered"], JSON.stringify(body));
  return body.delivery.payload.data;
}

/** @returns A customer with a hard limit of requests a month, who records now. */
async function adaWithLimit(test: TestApp, quantity: number) {
  const ada = await customer(test, "Ada");
  const { organizationId } = ada;
  const scope = { productSlug: "tiles", metric: "requests", per: "month", mode: "hard" } as const;
  await addLimit(test, { organizationId }, { ...scope, quantity });
  const record = (quantity: number) => ada.record(new Date(test.now()).toISOString(), { quantity });
  return { ...ada, record };
}

/** A billing system that ignores an identifier which it has seen in the last day, and no older one. */
function forgetfulBilling(now: () => number) {
  const charges: { identifier: string; metric: string; quantity: number; at: number }[] = [];
  return {
    failAfterCharging: false,
    async handler(this: { failAfterCharging: boolean }, request: Request): Promise<Response> {
      const { identifier, metric, quantity } = await request.json();
      const isKnown = charges.some((one) => one.identifier === identifier && now() - one.at < day);
      if (!isKnown) charges.push({ identifier, metric, quantity: Number(quantity), at: now() });
      return new Response(null, { status: this.failAfterCharging ? 500 : 201 });
    },
    charged(): Record<string, number> {
      const sums: Record<string, number> = {};
      for (const { metric, quantity } of charges) sums[metric] = (sums[metric] ?? 0) + quantity;
      return sums;
    },
  };
}
