// Lines of real exports as records: OpenMeter's, Lago's, Stripe's and ours.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { cloudEventKey } from "../../../domain/meter/cloud_event.ts";
import {
  type ImportMapping,
  type ImportSource,
  readImported,
} from "../../../routes/meter/schemas/imported_usage.ts";

const now = Date.UTC(2026, 10, 21, 14);

function mappingOf(source: ImportSource, more: Partial<ImportMapping> = {}): ImportMapping {
  const product = source === "lago" || source === "stripe" ? "tiles" : undefined;
  return {
    source,
    product,
    quantityProperties: new Map(),
    properties: undefined,
    customers: undefined,
    ...more,
  };
}

/** @returns The record of a line, or its first fault as text. */
function read(source: ImportSource, line: unknown, more?: Partial<ImportMapping>) {
  try {
    return readImported(line, { mapping: mappingOf(source, more), now });
  } catch (error) {
    assert.ok(error instanceof AppError && error.details?.[0] !== undefined, String(error));
    return `${error.details[0].path} ${error.details[0].message}`;
  }
}

const openMeterEvent = {
  ...{ id: "00001", source: "/products/tiles", specversion: "1.0", type: "ai-tokens", subject: "customer-1" },
  ...{ time: "2026-11-01T00:00:00.001Z", datacontenttype: "application/json" },
  data: { value: "1250.5", model: "gpt-4o", usage: { cached: 12 } },
};
const ingested = {
  event: openMeterEvent,
  ...{ customerId: "01G65Z755AFWAKHE12NY0CQ9FH", ingestedAt: "2026-11-01T00:00:02.001Z" },
  storedAt: "2026-11-01T00:00:03.001Z",
};
const lagoEvent = {
  ...{
    lago_id: "1a901a90-1a90-1a90-1a90-1a901a901a90",
    transaction_id: "transaction_1234567890",
    code: "storage",
  },
  ...{ lago_customer_id: null, external_subscription_id: "sub_1234567890", lago_subscription_id: null },
  ...{ timestamp: "2026-10-29T08:59:51.123Z", precise_total_amount_cents: "1234.56" },
  ...{ properties: { gb: 10, region: "eu" }, created_at: "2026-10-29T08:59:51Z" },
};
const stripeEvent = {
  ...{ object: "billing.meter_event", created: 1793000000, event_name: "ai_search_api" },
  ...{ identifier: "identifier_123", livemode: true, timestamp: 1793000000 },
  payload: { value: "25", stripe_customer_id: "cus_NciAYcXfLnqBoz" },
};
const exported = {
  ...{ cursor: "use_1", id: "use_1", organizationId: "org_1", externalId: "crm-1", productSlug: "tiles" },
  ...{ metric: "requests", quantity: "9007199254740990.000001", timestamp: "2026-11-01T00:00:00.000Z" },
  ...{ recordedAt: "2026-11-01T00:00:00.000Z", idempotencyKey: null, properties: { region: "eu" } },
  ...{ apiKeyId: "key_1", voidedAt: null, voidedBy: null, voidReason: null },
};

Deno.test("reads each source's events with their customer, metric, quantity, time, id and properties", () => {
  const common = { isCountedAsOne: false };
  const key = cloudEventKey({ source: "/products/tiles", id: "00001" });
  const fromOpenMeter = {
    ...common,
    externalId: "customer-1",
    usage: {
      ...{ productSlug: "tiles", metric: "ai-tokens", quantity: { whole: 1250, micro: 500_000 } },
      ...{ timestamp: Date.UTC(2026, 10, 1, 0, 0, 0, 1), idempotencyKey: key },
      properties: { model: "gpt-4o", "usage.cached": "12", subject: "customer-1" },
    },
  };
  assert.deepEqual(read("openmeter", ingested), fromOpenMeter);
  assert.deepEqual(read("openmeter", openMeterEvent), fromOpenMeter, "as it was sent");
  const withoutProduct = { ...openMeterEvent, source: "@openmeter/sdk" };
  assert.match(String(read("openmeter", withoutProduct)), /^source .*--product\.$/);
  const named = read("openmeter", withoutProduct, { product: "search" });
  assert.ok(typeof named === "object" && named !== null);
  assert.equal(named.usage.productSlug, "search");
  assert.equal(named.usage.idempotencyKey, cloudEventKey({ source: "@openmeter/sdk", id: "00001" }));

  const quantityProperties = new Map([["storage", "gb"]]);
  const fromLago = {
    ...common,
    externalId: "sub_1234567890",
    usage: {
      ...{ productSlug: "tiles", metric: "storage", quantity: { whole: 10, micro: 0 } },
      timestamp: Date.UTC(2026, 9, 29, 8, 59, 51, 123),
      idempotencyKey: "sub_1234567890/transaction_1234567890",
      properties: { region: "eu" },
    },
  };
  assert.deepEqual(read("lago", lagoEvent, { quantityProperties }), fromLago);
  const asSent = { event: { ...lagoEvent, timestamp: "1793264391.123" } };
  assert.deepEqual(read("lago", asSent, { quantityProperties }), fromLago, "as it was sent, in seconds");
  const withCustomer = read("lago", { ...lagoEvent, external_customer_id: "c1" }, { quantityProperties });
  assert.deepEqual(withCustomer, { ...fromLago, externalId: "c1" });

  const customers = new Map([["cus_NciAYcXfLnqBoz", "crm-1042"]]);
  const fromStripe = {
    ...common,
    externalId: "crm-1042",
    usage: {
      ...{ productSlug: "tiles", metric: "ai_search_api", quantity: { whole: 25, micro: 0 } },
      ...{ timestamp: 1793000000_000, idempotencyKey: "identifier_123", properties: {} },
    },
  };
  assert.deepEqual(read("stripe", stripeEvent, { customers }), fromStripe);
  const newer = { ...stripeEvent, object: "v2.billing.meter_event", timestamp: "2026-10-26T07:33:20.000Z" };
  assert.deepEqual(read("stripe", newer, { customers }), fromStripe);
  assert.match(String(read("stripe", stripeEvent, { customers: new Map() })), /^stripe_customer_id is “cus_/);

  assert.deepEqual(read("gatehouse", { ...exported, environment: "live" }), {
    ...common,
    externalId: "crm-1",
    usage: {
      ...{ productSlug: "tiles", metric: "requests", quantity: { whole: 9007199254740990, micro: 1 } },
      timestamp: Date.UTC(2026, 10, 1),
      ...{ idempotencyKey: "use_1", properties: { region: "eu" } },
    },
  });
  assert.equal(read("gatehouse", { ...exported, voidedAt: "2026-11-02T00:00:00.000Z" }), null);
  assert.equal(read("gatehouse", { ...exported, environment: "test" }), null);
});

Deno.test("takes the quantity from the named property, and counts an event as 1 only if none is named", () => {
  const quantity = (data: unknown, properties: [string, string][] = []) => {
    const record = read("openmeter", { ...openMeterEvent, data }, {
      quantityProperties: new Map(properties),
    });
    return typeof record === "object" && record !== null
      ? [record.usage.quantity.whole, record.isCountedAsOne]
      : record;
  };
  assert.deepEqual(quantity({ model: "x" }), [1, true]);
  assert.deepEqual(quantity(undefined), [1, true]);
  assert.deepEqual(quantity({ value: null }), [1, true]);
  assert.deepEqual(quantity({ value: 7 }), [7, false]);
  assert.deepEqual(quantity({ usage: { tokens: 8 } }, [["", "usage.tokens"]]), [8, false]);
  assert.deepEqual(quantity({ "usage.tokens": 8 }, [["ai-tokens", "usage.tokens"], ["", "other"]]), [
    8,
    false,
  ]);
  assert.deepEqual(quantity({ value: 7 }, [["ai-tokens", "1"]]), [1, false]);
  assert.match(
    String(quantity({ value: 7 }, [["", "tokens"]])),
    /^data\.tokens is required.* ai-tokens=1\.$/,
  );
  for (const value of [-1, "1.0000001", "much", true, [1]]) {
    assert.match(String(quantity({ value })), /^data\.value must /, String(value));
  }
});

Deno.test("names what can't be imported in the words of its source", () => {
  const faults: [ImportSource, unknown, RegExp][] = [
    ["openmeter", 7, /^ must be an object/],
    ["openmeter", { ...openMeterEvent, subject: undefined }, /^subject is required/],
    ["openmeter", { ...openMeterEvent, time: "2025-10-01T00:00:00Z" }, /^time must be at most 400 days/],
    ["openmeter", { ...openMeterEvent, time: "2026-11-21T15:00:00Z" }, /^time .* future/],
    ["openmeter", { ...openMeterEvent, time: undefined }, /^time is required/],
    ["openmeter", { ...ingested, validationError: "no meter found" }, /^validationError .*: no meter found/],
    ["openmeter", { ...openMeterEvent, data: { tags: ["a"] } }, /^data\.tags must be a string/],
    ["lago", { ...lagoEvent, transaction_id: undefined }, /^transaction_id is required/],
    ["lago", { ...lagoEvent, code: "a metric" }, /^code must be 1 to 64 letters/],
    ["lago", { ...lagoEvent, timestamp: "yesterday" }, /^timestamp must be a time/],
    ["lago", { ...lagoEvent, properties: { value: "x" } }, /^properties\.value must be a number/],
    ["lago", { ...lagoEvent, properties: [] }, /^properties must be an object/],
    ["stripe", { ...stripeEvent, livemode: false }, /^livemode is false/],
    ["stripe", { ...stripeEvent, identifier: null }, /^identifier is required/],
    ["stripe", { ...stripeEvent, payload: { value: "1" } }, /^stripe_customer_id is required/],
    ["gatehouse", { ...exported, quantity: "-1" }, /^quantity must be from 0/],
    ["gatehouse", { ...exported, externalId: " x" }, /^externalId must be 1 to 255/],
  ];
  for (const [source, line, expected] of faults) {
    assert.match(String(read(source, line)), expected);
  }
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`p${n}`, n]));
  assert.match(String(read("lago", { ...lagoEvent, properties: many })), /^properties .*16.*--properties\.$/);
  const kept = read("lago", { ...lagoEvent, properties: { ...many, value: 3 } }, {
    properties: ["p1", "p2"],
  });
  assert.ok(typeof kept === "object" && kept !== null);
  assert.deepEqual([kept.usage.quantity.whole, kept.usage.properties], [3, { p1: "1", p2: "2" }]);
});
