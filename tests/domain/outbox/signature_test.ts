// Signatures of deliveries: the values of the specification's own tests, and what its npm package accepts.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import { Webhook } from "npm:standardwebhooks@1.1.1";
import { newWebhookSecret, webhookSignature } from "../../../domain/outbox/signature.ts";
import { webhookVectors } from "../../support/client/webhook_vectors.ts";

Deno.test("signatures are those of the specification's tests", () => {
  for (const { secret, id, timestamp, body, signature } of webhookVectors) {
    assert.equal(webhookSignature([secret], { id, timestamp, body }), signature);
  }
});

Deno.test("the npm package standardwebhooks verifies a delivery with any secret that signed it", () => {
  const [secret, old, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const event = {
    type: "limit.reached",
    timestamp: "2026-11-21T14:03:11.250Z",
    data: { name: "Bücher “€” 🗺" },
  };
  const delivery = {
    id: "evt_0199d3c1a2b47c6e8f00112233445566",
    timestamp: Math.floor(Date.now() / 1000),
    body: JSON.stringify(event),
  };
  const verify = (signer: string, secrets: readonly string[], body = delivery.body) =>
    new Webhook(signer).verify(body, {
      "webhook-id": delivery.id,
      "webhook-timestamp": String(delivery.timestamp),
      "webhook-signature": webhookSignature(secrets, delivery),
    });
  assert.deepEqual(verify(secret, [secret]), event);
  for (const one of [secret, old]) assert.deepEqual(verify(one, [secret, old]), event);
  assert.throws(() => verify(other, [secret, old]), /No matching signature/);
  assert.throws(() => verify(secret, [secret], delivery.body.replace("reached", "cleared")), /No matching/);
});
