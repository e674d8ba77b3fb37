// Events of gateways become records as their mapping says, exactly.
import assert from "node:assert/strict";
import {
  type CollectedEvent,
  type EventMapping,
  eventPathForm,
  mapEvent,
  type MappedMetric,
  mappedQuantity,
  scaleForm,
} from "../../../domain/meter/event_mapping.ts";

const metric: MappedMetric = {
  productSlug: "models",
  metric: "tokens",
  path: "usage.total",
  scale: null,
  round: null,
  whenMissing: "reject",
  properties: {},
};
const mapping: EventMapping = {
  id: "map_1",
  name: "LiteLLM",
  type: "litellm_tokens",
  source: null,
  metrics: [metric],
  properties: { model: "model" },
  subject: null,
};
const event: CollectedEvent = {
  id: "1",
  source: "litellm-proxy",
  type: "litellm_tokens",
  subject: "u1",
  time: 5,
  data: { usage: { total: 12 }, model: "small" },
};

/** @returns The fault of an event, or its quantities. */
function mapped(changes: Partial<EventMapping>, data: CollectedEvent["data"]) {
  const result = mapEvent({ ...mapping, ...changes }, { ...event, data });
  if ("fault" in result) return `${result.fault.code} ${result.fault.path} ${result.fault.message}`;
  return result.records.map(({ quantity: { whole, micro } }) => [whole, micro]);
}

Deno.test("an event becomes records with its properties, its time and a subject", () => {
  const input = { ...metric, path: "$.in", properties: { type: "input" } };
  const output = { ...metric, path: "out", properties: { type: "output" } };
  const result = mapEvent({ ...mapping, metrics: [input, output], subject: "user.id" }, {
    ...event,
    data: { in: 10, out: "2.5", model: "small", user: { id: 7 } },
  });
  assert.ok("records" in result);
  assert.equal(result.subject, "7");
  assert.deepEqual(
    result.records.map(({ quantity, properties, timestamp }) => [quantity, properties, timestamp]),
    [
      [{ whole: 10, micro: 0 }, { model: "small", type: "input" }, 5],
      [{ whole: 2, micro: 500_000 }, { model: "small", type: "output" }, 5],
    ],
  );
  const [first, second] = result.records.map(({ idempotencyKey }) => idempotencyKey);
  assert.match(first ?? "", /^map:[\w-]{43}$/);
  assert.notEqual(first, second);
});

Deno.test("a changed path or scale keeps the idempotency key, another entry has another one", () => {
  const keyOf = (changes: Partial<MappedMetric>, of = event) => {
    const result = mapEvent({ ...mapping, metrics: [{ ...metric, ...changes }] }, of);
    return "records" in result ? result.records[0]?.idempotencyKey : undefined;
  };
  const key = keyOf({});
  assert.equal(keyOf({ scale: "10", round: "up" }), key);
  assert.notEqual(keyOf({ productSlug: "m" }), key);
  assert.notEqual(keyOf({ properties: { a: "b" } }), key);
  assert.notEqual(keyOf({}, { ...event, id: "2" }), key);
  assert.equal(
    keyOf({ properties: { a: "1", b: "2" } }),
    keyOf({ properties: { b: "2", a: "1" } }),
  );
});

Deno.test("a property that is missing, no scalar or too long is left out", () => {
  const properties = { a: "gone", b: "list", c: "long", d: "is.deep", e: "@source" };
  const data = { usage: { total: 1 }, list: [1], long: "x".repeat(256), is: { deep: true } };
  const result = mapEvent({ ...mapping, properties }, { ...event, data });
  assert.deepEqual("records" in result && result.records[0]?.properties, {
    d: "true",
    e: "litellm-proxy",
  });
});

Deno.test("what is missing rejects the event or is skipped", () => {
  const skip = { ...metric, whenMissing: "skip" } as const;
  assert.match(String(mapped({}, {})), /^validation_failed data\.usage\.total is required/);
  assert.match(String(mapped({}, { usage: [{ total: 1 }] })), /is required/);
  assert.match(String(mapped({ metrics: [skip] }, {})), /^nothing_to_record data /);
  const two = [skip, { ...metric, path: "cost" }];
  assert.deepEqual(mapped({ metrics: two }, { cost: 3, usage: { total: null } }), [[3, 0]]);
  assert.match(
    String(mapped({ subject: "user" }, { usage: { total: 1 } })),
    /^validation_failed data\.user /,
  );
  assert.match(
    String("fault" in mapEvent(mapping, { ...event, subject: null })),
    /true/,
  );
});

Deno.test("only own members of objects are found", () => {
  for (const path of ["constructor", "toString.length", "usage.__proto__"]) {
    const found = mapped({ metrics: [{ ...metric, path }] }, { usage: { total: 1 } });
    assert.match(String(found), /is required/, path);
  }
  assert.deepEqual(mapped({ metrics: [{ ...metric, path: "__proto__" }] }, JSON.parse('{"__proto__": 2}')), [[
    2,
    0,
  ]]);
});

Deno.test("quantities are scaled exactly and then rounded", () => {
  const of = (value: unknown, scale: string | null = null, round: MappedMetric["round"] = null) => {
    const quantity = mappedQuantity(value, { scale, round });
    return typeof quantity === "string" ? quantity : `${quantity.whole}.${quantity.micro}`;
  };
  assert.equal(of(0.0000123, "1000000"), "12.300000");
  assert.equal(of("0.0000123", "1000000", "nearest"), "12.0");
  assert.equal(of("0.0000125", "1000000", "nearest"), "13.0");
  assert.equal(of("0.0000121", "1000000", "up"), "13.0");
  assert.equal(of("12", "1000000", "up"), "12000000.0");
  assert.equal(of(1e-7), "0.0");
  assert.equal(of(5e-7), "0.1");
  assert.equal(of("0.0000004"), "0.0");
  assert.equal(of(0.1 + 0.2), "0.300000");
  assert.equal(of(5e-324, "999999999999"), "0.0");
  assert.equal(of(5e-324, null, "up"), "1.0");
  assert.equal(of(-0), "0.0");
  assert.equal(of("9007199254740991"), "9007199254740991.0");
  for (const value of ["9007199254740991.1", "9007199254740992", 1e300, 1e308, Infinity]) {
    assert.match(of(value), /^must be at most/, String(value));
  }
  assert.match(of("9".repeat(17), "0.00001"), /^\d+\.\d+$/);
  for (const value of ["", " 1", "1 ", "0x10", "1,000", "NaN", NaN, true, {}, [], [1], "9".repeat(65)]) {
    assert.match(of(value), /^must be a number/, String(value));
  }
  for (const value of [-1, "-0.1"]) assert.match(of(value), /^must not be negative/);
});

Deno.test("paths and scales have one form", () => {
  for (const path of ["cost", "$.cost", "usage.total_tokens", "a-b.c:d", "@subject", "@source", "é"]) {
    assert.match(path, eventPathForm);
  }
  for (const path of ["", "$", "$.", "a.", ".a", "a..b", "a[0]", "a.*", "@id", "a b", "$..a"]) {
    assert.doesNotMatch(path, eventPathForm);
  }
  for (const scale of ["1", "1000000", "0.000001", "999999999999.999999999999"]) {
    assert.match(scale, scaleForm);
  }
  for (const scale of ["0", "0.0", "-1", "1e6", ".5", "1.", "1234567890123", "0.1234567890123"]) {
    assert.doesNotMatch(scale, scaleForm);
  }
});
