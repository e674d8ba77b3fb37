// verifyWebhook() of both clients with known signatures, with what Gatehouse signs, and with requests that must be rejected.
import assert from "node:assert/strict";
import { verifyWebhook, WebhookError } from "../../packages/client/src/webhooks.ts";
import { newWebhookSecret, webhookSignature } from "../../domain/outbox/signature.ts";
import { languages } from "../support/client/any_meter.ts";
import { python, pythonEnv } from "../support/client/python_meter.ts";
import { rejectedDeliveries, type WebhookVector, webhookVectors } from "../support/client/webhook_vectors.ts";
import { runLines } from "../support/runner/guides.ts";

/** A call of the function. The body is parsed before the call if `isParsed`. `now` is in seconds. */
interface Call {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secret: string | null | readonly (string | null)[];
  readonly now?: number;
  readonly isParsed?: boolean;
}

/** The event, or the error's class, code and message, with each form of body and headers. */
type Outcomes = unknown[];

function inTypeScript(calls: readonly Call[]): Promise<Outcomes[]> {
  return Promise.all(calls.map(({ body, headers, secret, now, isParsed }) => {
    const given = Array.isArray(secret) ? secret.map((one) => one ?? undefined) : secret ?? undefined;
    const more = { secret: given as string, ...(now === undefined ? {} : { now: now * 1000 }) };
    const entries = Object.entries(headers);
    const forms: (Headers | Record<string, string | string[]>)[] = [
      { ...headers },
      Object.fromEntries(entries.map(([name, value]) => [name.toUpperCase(), [value]])),
    ];
    // Headers take only bytes, and remove spaces.
    if (entries.every(([, value]) => /^(?! )[^\u0100-\uffff]*$/.test(value))) {
      forms.push(new Headers(headers));
    }
    const bytes = new TextEncoder().encode(body);
    // A part of a larger buffer, as Node.js has them.
    const part = new Uint8Array([1, ...bytes, 2]).subarray(1, -1);
    const bodies = isParsed ? [JSON.parse(body)] : [body, bytes, bytes.buffer, part];
    const outcome = (body: string, headers: Headers | Record<string, string | string[]>) =>
      verifyWebhook(body, { headers, ...more }).catch((error) =>
        error instanceof WebhookError
          ? ["WebhookError", error.code, error.message]
          : [error.name, null, error.message]
      );
    return Promise.all(bodies.flatMap((body) => forms.map((headers) => outcome(body, headers))));
  }));
}

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

async function inPython(calls: readonly Call[]): Promise<Outcomes[]> {
  const env = { ...pythonEnv, PYTHONIOENCODING: "utf-8", PROGRAM: program };
  return JSON.parse(
    await runLines(`${python} -c "$PROGRAM"`, { cwd: "/", env, stdin: JSON.stringify(calls) }),
  );
}

const headersOf = ({ id, timestamp, signature }: WebhookVector) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": signature,
});

const [secret, old] = [newWebhookSecret(), newWebhookSecret()];
const signed = { id: "evt_1", timestamp: Math.floor(Date.now() / 1000), body: '{"type":"webhook.test"}' };
/** A delivery that Gatehouse signed with two secrets. */
const delivery = {
  body: signed.body,
  headers: headersOf({ ...signed, secret, signature: webhookSignature([secret, old], signed) }),
};

for (const language of languages) {
  const outcomesOf = language === "Python" ? inPython : inTypeScript;

  Deno.test(`${language}: verifies each form of headers, body and secrets, in time`, async () => {
    const accepted = webhookVectors.flatMap((vector): Call[] => {
      const { body, secret, timestamp } = vector;
      const call = { body, headers: headersOf(vector), secret, now: timestamp };
      const secrets = [secret.replace("whsec_", ""), [newWebhookSecret(), secret], [null, "", secret, old]];
      return [
        ...[-300, 0, 300.9].map((seconds) => ({ ...call, now: timestamp + seconds })),
        ...secrets.map((secret) => ({ ...call, secret })),
      ];
    });
    for (const one of [secret, old]) accepted.push({ ...delivery, secret: one });
    for (const [index, outcomes] of (await outcomesOf(accepted)).entries()) {
      assert.ok(outcomes.length >= 4);
      const call = accepted[index] ?? assert.fail();
      for (const outcome of outcomes) assert.deepEqual(outcome, JSON.parse(call.body), JSON.stringify(call));
    }
  });

  Deno.test(`${language}: rejects changed deliveries, with the reason`, async () => {
    const rejected = webhookVectors.flatMap((vector) =>
      rejectedDeliveries(vector).map(({ change: { headers, ...change }, code }) => {
        const { body, secret, timestamp } = vector;
        const changed = { ...headersOf(vector), ...headers };
        return { code, call: { body, secret, now: timestamp, ...change, headers: changed } };
      })
    );
    for (const [index, outcomes] of (await outcomesOf(rejected.map(({ call }) => call))).entries()) {
      const { call, code } = rejected[index] ?? assert.fail();
      for (const [type, given, message] of outcomes as string[][]) {
        assert.deepEqual([type, given], ["WebhookError", code], `${JSON.stringify(call)} ${message}`);
        assert.ok(!message?.includes(call.secret.slice(6)));
      }
    }
  });

  Deno.test(`${language}: reports a wrong use as such, not as an invalid request`, async () => {
    const wrong = [null, "", "whsec_", [], [null], "whsec_not base64!", [secret, "whsec_?"]];
    const misused: Call[] = wrong.map((secret) => ({ ...delivery, secret }));
    const outcomes = await outcomesOf([...misused, { ...delivery, secret, isParsed: true }]);
    for (const outcome of outcomes.pop() ?? []) assert.match(String(outcome), /^TypeError,,body must be/);
    for (const [index, outcome] of outcomes.entries()) {
      const form = /^(TypeError|ValueError),,secret must be/;
      for (const one of outcome) assert.match(String(one), form, JSON.stringify(wrong[index]));
    }
  });
}

Deno.test("verifyWebhook() rejects an unknown option", async () => {
  const misspelled = { headers: {}, secret: newWebhookSecret(), nwo: 0 };
  await assert.rejects(verifyWebhook("{}", misspelled), /^TypeError: nwo is not an option of verifyWebhook/);
});

Deno.test("verifyWebhook() needs no module of Node.js, for edge runtimes", async () => {
  const file = new URL("../../packages/client/src/webhooks.ts", import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", file] }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: { specifier: string }[] };
  const names = modules.map(({ specifier }) => specifier.replace(/.*\//, "")).sort();
  assert.deepEqual(names, ["errors.ts", "session_cookie.ts", "webhooks.ts"]);
});
