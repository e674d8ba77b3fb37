// The bodies of LiteLLM's callback `openmeter`, as Python writes them: one request for each call, with one token for all customers.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

/** A customer with the external id `cus_1`, and a proxy whose collector has the preset. */
async function proxyScene(test: TestApp) {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  const operator = await operatorOf(test);
  await operator(`PATCH /organizations/${person.organizationId}`, { externalId: "cus_1" });
  assert.equal((await operator("POST /event-mappings", { preset: "litellm" })).status, 201);
  const { fullToken } = await newOperatorToken(test, ["usage:collect"]);
  test.advance(Date.parse("2026-11-21T14:03:12Z") - test.now());
  /** @returns The status, and the error's code. */
  const send = async (body: string): Promise<string> => {
    const response = await test.send("/api/v1/events", {
      apiKey: fullToken,
      method: "POST",
      body,
      headers: { "content-type": "application/cloudevents+json" },
    });
    const text = await response.text();
    return text === "" ? `${response.status}` : `${response.status} ${JSON.parse(text).error.code}`;
  };
  /** @returns Quantity, metric, type and model of each record, the oldest first. */
  const records = async () => {
    const { usageRecords } = await (await test.send("/api/v1/usage/records", { apiKey: fullKey })).json();
    type Row = { quantity: number; metric: string; productSlug: string; properties: Record<string, string> };
    return usageRecords.toReversed().map(({ quantity, productSlug, metric, properties }: Row) =>
      [quantity, productSlug, metric, properties?.["type"], properties?.["model"]].filter((each) =>
        each !== undefined
      ).join(" ")
    ).sort();
  };
  return { send, records, operator, organizationId: person.organizationId };
}

/** The body as Python's `json.dumps` writes it. */
const event = (
  { id = "chatcmpl-9uL1Q", time = "2026-11-21T14:03:11.123456+00:00", subject = "cus_1", data }: {
    id?: string;
    time?: string;
    subject?: string;
    data: string;
  },
) =>
  `{"specversion": "1.0", "type": "litellm_tokens", "id": "${id}", "time": "${time}", "subject": "${subject}", ` +
  `"source": "litellm-proxy", "data": {${data}}}`;

const usage = '"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15';

onEveryDatabase("records each kind of call that LiteLLM reports", async (test) => {
  const { send, records } = await proxyScene(test);
  const model = (name: string, cost: string) => `"model": "${name}", "cost": ${cost}`;
  const bodies = [
    // A completion, and one that was streamed: its last chunk has the usage.
    event({ id: "chatcmpl-1", data: `${model("gpt-4o-mini", "1.23e-05")}, ${usage}` }),
    event({ id: "chatcmpl-2", data: `${model("gpt-4o-mini", "0.30000000000000004")}, ${usage}` }),
    // An embedding has the id of the call.
    event({
      id: "2f1c2a54-4a6c-4d6e-a5a3-0c2b1f6e6d11",
      data: `${
        model("text-embedding-3-small", "2e-07")
      }, "prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10`,
    }),
    // Responses, images and speech are reported without usage.
    event({ id: "resp_1", data: model("gpt-5", "0.0123") }),
    // A model without a price, and a response without a sum.
    event({
      id: "chatcmpl-3",
      data: `${model("llama", "null")}, "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": null`,
    }),
    // Fields that a later version may add.
    event({ id: "chatcmpl-4", data: `"team": {"id": "t1"}, "model": null, "cost": 0.0, ${usage}` }),
  ];
  for (const body of bodies) assert.equal(await send(body), "204", body);
  assert.deepEqual(await records(), [
    "0 models micro_dollars",
    "0 models tokens output text-embedding-3-small",
    "0.2 models micro_dollars text-embedding-3-small",
    "10 models tokens input",
    "10 models tokens input gpt-4o-mini",
    "10 models tokens input gpt-4o-mini",
    "10 models tokens input text-embedding-3-small",
    "12.3 models micro_dollars gpt-4o-mini",
    "12300 models micro_dollars gpt-5",
    "3 models tokens output llama",
    "300000 models micro_dollars gpt-4o-mini",
    "5 models tokens output",
    "5 models tokens output gpt-4o-mini",
    "5 models tokens output gpt-4o-mini",
    "7 models tokens input llama",
  ]);
});

onEveryDatabase(
  "records calls of every version of Python, which writes times in three forms",
  async (test) => {
    const { send, records } = await proxyScene(test);
    // With microseconds, on a whole second, and before Python 3.11 without a time zone.
    const times = [
      "2026-11-21T14:03:11.000001+00:00",
      "2026-11-21T14:03:11+00:00",
      "2026-11-21T14:03:11.123456",
    ];
    for (const [index, time] of times.entries()) {
      assert.equal(await send(event({ id: `chatcmpl-${index}`, time, data: usage })), "204", time);
    }
    assert.equal((await records()).length, 6);
  },
);

onEveryDatabase(
  "counts a call once though LiteLLM reports it twice, or answers from its cache",
  async (test) => {
    const { send, records } = await proxyScene(test);
    const data = `"model": "small", "cost": 1e-05, ${usage}`;
    assert.equal(await send(event({ data })), "204");
    assert.equal(await send(event({ data })), "204");
    // Each report has its own time. A cached response has the id of the first, and costs nothing.
    const time = "2026-11-21T14:03:11.923456+00:00";
    assert.equal(await send(event({ data, time })), "409 idempotency_conflict");
    assert.equal(await send(event({ data: data.replace("1e-05", "0.0"), time })), "409 idempotency_conflict");
    assert.equal((await records()).length, 3);
  },
);

onEveryDatabase("keeps calls of the proxy's own users until they are assigned", async (test) => {
  const { send, operator, organizationId } = await proxyScene(test);
  // Of a call without `user` with the proxy's master key. Without any user, LiteLLM reports nothing.
  const body = event({ subject: "default_user_id", data: usage });
  assert.equal(await send(body), "422 subject_unknown");
  const subject = { subject: "default_user_id", organizationId };
  const { body: { kept } } = await operator("POST /subjects/assign", subject);
  assert.equal(kept, 1);
  assert.equal(await send(event({ id: "chatcmpl-2", subject: "default_user_id", data: usage })), "204");
});

onEveryDatabase("rejects what no version of LiteLLM sends, and says why", async (test) => {
  const { send, records } = await proxyScene(test);
  assert.equal(await send(event({ subject: "", data: usage })), "422 validation_failed");
  assert.equal(await send(event({ data: '"model": "small", "cost": null' })), "422 nothing_to_record");
  assert.equal(await send(event({ data: '"prompt_tokens": -1' })), "422 validation_failed");
  assert.deepEqual(await records(), []);
});
