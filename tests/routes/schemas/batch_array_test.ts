// A batch with many faults: reading stops once the error is full, because other requests wait for the thread meanwhile.
import assert from "node:assert/strict";
import { AppError } from "../../../domain/errors.ts";
import { errorDetailsMax, usageBatchRecordsMax } from "../../../domain/limits.ts";
import { check } from "../../../routes/schemas/check.ts";
import { cloudEventBatchSchema } from "../../../routes/meter/schemas/cloud_event.ts";
import { readBatch } from "../../../routes/meter/schemas/openmeter_event.ts";
import { operatorUsageBatchSchema } from "../../../routes/meter/schemas/operator_usage.ts";
import { usageBatchSchema } from "../../../routes/meter/schemas/usage.ts";

const faults = Object.fromEntries(Array.from({ length: 44 }, (_, n) => [`Fault_${n}`, n]));
const event = {
  specversion: "1.0",
  id: "1",
  source: "/products/tiles",
  type: "requests",
  data: { quantity: 1 },
};
const record = { productSlug: "tiles", metric: "requests", quantity: 1 };
const readEvents = (batch: unknown[]) => readBatch(batch, { field: "quantity", isNamed: false });

const batches: Readonly<
  Record<string, { read: (items: unknown[]) => unknown; valid: object; faulty: object }>
> = {
  "attributes of CloudEvents": {
    read: (items) => check(cloudEventBatchSchema, items, "body"),
    valid: event,
    faulty: { ...event, ...faults },
  },
  "attributes of OpenMeter's events": { read: readEvents, valid: event, faulty: { ...event, ...faults } },
  "properties of records": {
    read: (records) => check(usageBatchSchema, { records }, "body"),
    valid: record,
    faulty: { ...record, properties: faults },
  },
  "properties of operators' records": {
    read: (records) => check(operatorUsageBatchSchema, { records }, "body"),
    valid: { ...record, externalId: "customer-1" },
    faulty: { ...record, externalId: "customer-1", properties: faults },
  },
};

for (const [name, { read, valid, faulty }] of Object.entries(batches)) {
  Deno.test(`stops reading a batch with many invalid ${name}`, () => {
    let items = 0;
    const batch = Array.from({ length: usageBatchRecordsMax }, () => ({
      ...faulty,
      get [Object.keys(valid)[0] ?? ""]() {
        items++;
        return Object.values(valid)[0];
      },
    }));
    const details = detailsOf(() => read(batch));
    assert.equal(details.length, errorDetailsMax);
    assert.match(details[0]?.path ?? "", /\[0\]\..*Fault_0$/);
    assert(items < 20, `${items} items were read`);
  });

  Deno.test(`names the last item of a batch with invalid ${name}`, () => {
    const batch = [...Array.from({ length: usageBatchRecordsMax - 1 }, () => valid), faulty];
    const details = detailsOf(() => read(batch));
    assert.equal(details.length, Object.keys(faults).length);
    assert.match(details[0]?.path ?? "", /\[999\]\..*Fault_0$/);
  });
}

Deno.test("stops reading OpenMeter's events with many invalid quantities", () => {
  let items = 0;
  const data = {
    get quantity() {
      items++;
      return -1;
    },
  };
  const batch = Array.from({ length: usageBatchRecordsMax }, () => ({ ...event, data }));
  assert.equal(detailsOf(() => readEvents(batch)).length, errorDetailsMax);
  // The schema also reads each once, which is cheap.
  assert(items <= usageBatchRecordsMax + errorDetailsMax, `${items} quantities were read`);
});

function detailsOf(read: () => unknown) {
  try {
    read();
  } catch (error) {
    assert(error instanceof AppError);
    return error.details ?? [];
  }
  throw new Error("the batch was accepted");
}
