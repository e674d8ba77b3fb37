// verify_webhook() of gatehouse.py with the same deliveries as the client for TypeScript.
import assert from "node:assert/strict";
import { newWebhookSecret, webhookSignature } from "../../domain/webhooks/signature.ts";
import { python, pythonPackage } from "../support/client/python_meter.ts";
import { isMissing } from "../support/runner/needs.ts";
import { rejectedDeliveries, type WebhookVector, webhookVectors } from "../support/client/webhook_vectors.ts";

/** A call of verify_webhook(). The body is parsed before the call if `isParsed`. */
interface Call {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secret: string | null | readonly (string | null)[];
  readonly now?: number;
  readonly isParsed?: boolean;
}

/** Writes the event, or the error's class, code and message, for each call of its input. */
const program = `
import json, sys
from email.message import Message
from gatehouse import WebhookError, verify_webhook

def outcome(call, body, headers):
    try:
        return verify_webhook(body, headers=headers, secret=call["secret"], now=call.get("now"))
    except Exception as error:
        return [type(error).__name__, getattr(error, "code", None), str(error)]

def outcomes(call):
    if call.get("isParsed"):
        return [outcome(call, json.loads(call["body"]), call["headers"])]
    received = Message()
    for name, value in call["headers"].items():
        received[name.upper()] = value
    bodies = [call["body"], call["body"].encode()]
    return [outcome(call, body, headers) for body in bodies for headers in (call["headers"], received)]

json.dump([outcomes(call) for call in json.load(sys.stdin)], sys.stdout)
`;

/** @returns For each call, the outcomes with each form of body and headers. */
async function outcomesOf(calls: readonly Call[]): Promise<unknown[][]> {
  const child = new Deno.Command(python, {
    args: ["-c", program],
    env: { PYTHONPATH: pythonPackage, PYTHONDONTWRITEBYTECODE: "1", PYTHONIOENCODING: "utf-8" },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  await new Blob([JSON.stringify(calls)]).stream().pipeTo(child.stdin);
  return JSON.parse(new TextDecoder().decode((await child.output()).stdout));
}

const headersOf = ({ id, timestamp, signature }: WebhookVector) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signature,
});

const name = "verify_webhook() accepts and rejects the same deliveries as the client for TypeScript";
Deno.test({ name, ignore: isMissing("python3") }, async () => {
  const accepted = webhookVectors.flatMap((vector): Call[] => {
    const { body, secret, timestamp } = vector;
    const call = { body, headers: headersOf(vector), secret, now: timestamp };
    const secrets = [secret.replace("whsec_", ""), [newWebhookSecret(), secret], [null, "", secret]];
    return [call, { ...call, now: timestamp - 300 }, { ...call, now: timestamp + 300.9 }].concat(
      secrets.map((secret) => ({ ...call, secret })) as typeof call[],
    );
  });
  const [secret, old] = [newWebhookSecret(), newWebhookSecret()];
  const delivery = { id: "evt_1", timestamp: Math.floor(Date.now() / 1000), body: '{"type":"webhook.test"}' };
  const headers = headersOf({ ...delivery, secret, signature: webhookSignature([secret, old], delivery) });
  for (const one of [secret, old]) accepted.push({ body: delivery.body, headers, secret: one });

  const rejected = webhookVectors.flatMap((vector) =>
    rejectedDeliveries(vector).map(({ change: { headers, ...change }, code }) => {
      const { body, secret, timestamp } = vector;
      const call = { body, secret, now: timestamp, ...change, headers: { ...headersOf(vector), ...headers } };
      return { call, code };
    })
  );
  const wrong = [null, "", "whsec_", [], [null], "whsec_not base64!", [secret, "whsec_?"]];
  const misused = wrong.map((secret): Call => ({ body: delivery.body, headers, secret }));
  const parsed: Call = { body: delivery.body, headers, secret, isParsed: true };

  const outcomes = await outcomesOf([...accepted, ...rejected.map(({ call }) => call), ...misused, parsed]);
  for (const { body } of accepted) {
    assert.deepEqual(outcomes.shift(), Array.from({ length: 4 }, () => JSON.parse(body)));
  }
  for (const { call, code } of rejected) {
    for (const [type, given, message] of outcomes.shift() as string[][]) {
      assert.deepEqual([type, given], ["WebhookError", code], `${JSON.stringify(call)} ${message}`);
      assert.ok(!message?.includes(call.secret.slice(6)));
    }
  }
  for (const { secret } of misused) {
    for (const [type, , message] of outcomes.shift() as string[][]) {
      assert.equal(`${type}: ${message}`.slice(0, 26), "ValueError: secret must be", JSON.stringify(secret));
    }
  }
  assert.match(String(outcomes.shift()), /^TypeError,,body must be/);
});
