// A gateway that reports usage as LiteLLM does: a collector's token, a mapping and a customer.
import { createTestKey, type TestApp } from "../app/app.ts";
import { operatorOf } from "../operators/operator_api.ts";
import { newOperatorToken } from "../operators/operators.ts";

export const metrics = [
  { productSlug: "models", metric: "tokens", path: "prompt_tokens", properties: { type: "input" } },
  { productSlug: "models", metric: "tokens", path: "completion_tokens", properties: { type: "output" } },
];

/** As LiteLLM's callback `openmeter` sends it. */
export const litellmEvent = (id: string, subject: string, data: object = {}) => ({
  specversion: "1.0",
  type: "litellm_tokens",
  id,
  time: "2026-11-21T14:03:11.123456+00:00",
  subject,
  source: "litellm-proxy",
  data: {
    model: "gpt-4o-mini",
    cost: 0.0000123,
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    ...data,
  },
});

/** A collector's token, a mapping, and a customer. */
export async function collectorScene(test: TestApp, mapping: object = {}) {
  const person = await test.signUp();
  const key = await createTestKey(test, person);
  const operator = await operatorOf(test);
  const { fullToken } = await newOperatorToken(test, ["usage:collect"]);
  test.advance(Date.parse("2026-11-21T14:03:12Z") - test.now());
  const { body: { mapping: { id: mappingId } } } = await operator("POST /event-mappings", {
    name: "LiteLLM",
    type: "litellm_tokens",
    metrics,
    properties: { model: "model" },
    ...mapping,
  });
  const send = async (events: unknown, { path = "/api/v1/events", apiKey = fullToken } = {}) => {
    const type = Array.isArray(events)
      ? "application/cloudevents-batch+json"
      : "application/cloudevents+json";
    const response = await test.send(path, {
      apiKey,
      method: "POST",
      body: JSON.stringify(events),
      headers: { "content-type": type },
    });
    const text = await response.text();
    if (response.status === 204) return "204";
    const { error } = JSON.parse(text);
    const paths = error.details?.map(({ path }: { path: string }) => path) ?? [];
    return [response.status, error.code, ...paths].join(" ");
  };
  const records = async (apiKey = key.fullKey): Promise<[number, object][]> => {
    const { usageRecords } = await (await test.send("/api/v1/usage/records", { apiKey })).json();
    return usageRecords.map((
      { quantity, properties }: { quantity: number; properties: object },
    ) => [quantity, properties]).sort((a: [number], b: [number]) => b[0] - a[0]);
  };
  return { person, key, operator, mappingId, send, records, organizationId: person.organizationId };
}

export const input = { model: "gpt-4o-mini", type: "input" };
export const output = { model: "gpt-4o-mini", type: "output" };
