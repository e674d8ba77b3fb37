// verifyWebhook() with known signatures, with what Gatehouse signs, and with requests that must be rejected.
import assert from "node:assert/strict";
import { verifyWebhook, WebhookError } from "../../packages/client/src/webhooks.ts";
import { newWebhookSecret, webhookSignature } from "../../domain/webhooks/signature.ts";
import { rejectedDeliveries, type WebhookVector, webhookVectors } from "../support/client/webhook_vectors.ts";

const headersOf = ({ id, timestamp, signature }: WebhookVector) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signature,
});

for (const vector of webhookVectors) {
  const { body, secret, timestamp } = vector;
  const headers = headersOf(vector);
  const now = timestamp * 1000;

  Deno.test(`verifyWebhook() accepts ${vector.id} in each form of headers and body, and each secret`, async () => {
    const event = JSON.parse(body);
    const shouting = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    );
    for (const one of [headers, shouting, new Headers(headers)]) {
      assert.deepEqual(await verifyWebhook(body, { headers: one, secret, now }), event);
    }
    const bytes = new TextEncoder().encode(body);
    // A part of a larger buffer, as Node.js has them.
    const part = new Uint8Array([1, ...bytes, 2]).subarray(1, -1);
    for (const one of [bytes, bytes.buffer, part]) {
      assert.deepEqual(await verifyWebhook(one, { headers, secret, now }), event);
    }
    const other = newWebhookSecret();
    for (const one of [secret.replace("whsec_", ""), [other, secret], [undefined, "", secret, other]]) {
      assert.deepEqual(await verifyWebhook(body, { headers, secret: one, now }), event);
    }
    for (const seconds of [-300, 300]) {
      assert.deepEqual(await verifyWebhook(body, { headers, secret, now: now + seconds * 1000 }), event);
    }
  });

  Deno.test(`verifyWebhook() rejects changes of ${vector.id}, with the reason`, async () => {
    for (const { change, code } of rejectedDeliveries(vector)) {
      const { body, secret, now, headers } = { body: vector.body, secret: vector.secret, ...change };
      const given = { headers: { ...headersOf(vector), ...headers }, secret, now: (now ?? timestamp) * 1000 };
      await assert.rejects(verifyWebhook(body, given), (error) => {
        assert.ok(error instanceof WebhookError, String(error));
        assert.equal(error.code, code, JSON.stringify(change));
        assert.ok(!error.message.includes(secret.slice(6)));
        return true;
      });
    }
  });
}

Deno.test("verifyWebhook() accepts what Gatehouse signs with two secrets, for who knows either", async () => {
  const [secret, old] = [newWebhookSecret(), newWebhookSecret()];
  const delivery = { id: "evt_1", timestamp: Math.floor(Date.now() / 1000), body: '{"type":"webhook.test"}' };
  const headers = headersOf({
    ...delivery,
    secret,
    signature: webhookSignature([secret, old], delivery),
  });
  for (const one of [secret, old]) {
    assert.deepEqual(await verifyWebhook(delivery.body, { headers, secret: one }), { type: "webhook.test" });
  }
});

Deno.test("verifyWebhook() reports a wrong use as such, not as an invalid request", async () => {
  const [vector] = webhookVectors;
  assert.ok(vector !== undefined);
  const { body, secret } = vector;
  const headers = headersOf(vector);
  for (const wrong of [undefined, "", "whsec_", [], [undefined], "whsec_not base64!", [secret, "whsec_?"]]) {
    await assert.rejects(verifyWebhook(body, { headers, secret: wrong }), /^TypeError: secret must be/);
  }
  await assert.rejects(verifyWebhook(JSON.parse(body), { headers, secret }), /^TypeError: body must be/);
  const misspelled = { headers, secret, nwo: 0 };
  await assert.rejects(verifyWebhook(body, misspelled), /^TypeError: nwo is not an option of verifyWebhook/);
});

Deno.test("verifyWebhook() needs no module of Node.js, for edge runtimes", async () => {
  const file = new URL("../../packages/client/src/webhooks.ts", import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", file] }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: { specifier: string }[] };
  const names = modules.map(({ specifier }) => specifier.replace(/.*\//, "")).sort();
  assert.deepEqual(names, ["errors.ts", "session_cookie.ts", "webhooks.ts"]);
});
