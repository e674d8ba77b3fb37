// Ids reveal when something happened, but not how much the service is used. All servers of a database use the same ids.
import assert from "node:assert/strict";
import { createTestKey, startTestApp, type TestApp, testApp } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";

async function record(test: TestApp, apiKey: string): Promise<{ id: string; requestId: string }> {
  const response = await test.send("/api/v1/usage", {
    apiKey,
    json: { productSlug: "tiles", metric: "requests", quantity: 1 },
  });
  assert.equal(response.status, 201, await response.clone().text());
  const { usageRecord } = await response.json();
  return { id: usageRecord.id, requestId: response.headers.get("x-request-id") ?? "" };
}

/** The differences between the parts after the time. */
function distances(ids: readonly string[]): number[] {
  const places = ids.map((id) => Number(`0x${id.slice(-12)}`));
  return places.slice(1).map((place, n) => place - (places[n] ?? 0));
}

testApp("ids of records and requests start with the time, sort by it, and contain no count", async (test) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const made = [];
  for (let n = 0; n < 20; n++) {
    test.advance(1);
    made.push(await record(test, fullKey));
  }
  for (const ids of [made.map(({ id }) => id), made.map(({ requestId }) => requestId)]) {
    assert.deepEqual(ids, [...ids].sort());
    assert.equal(Number(`0x${ids.at(-1)?.slice(4, 16)}`), test.now());
    assert.equal(new Set(distances(ids)).size, 19, "all distances between records differ");
  }
});

onEveryDatabase("an id of one server works on another, but not with another database", async (first) => {
  const dispose = () => Promise.resolve();
  const second = await startTestApp({}, { open: () => Promise.resolve({ ...first.opened, dispose }) });
  const elsewhere = await startTestApp();
  try {
    const ada = await first.signUp();
    const { fullKey } = await createTestKey(first, ada);
    const { id } = await record(first, fullKey);
    const listed = await second.send("/api/v1/usage/records", { apiKey: fullKey });
    assert.equal((await listed.json()).usageRecords[0].id, id);
    assert.equal(
      (await second.send(`/api/v1/usage/records?cursor=${id}`, { apiKey: fullKey })).status,
      200,
    );
    const other = await createTestKey(elsewhere, await elsewhere.signUp());
    await record(elsewhere, other.fullKey);
    const foreign = await elsewhere.send(`/api/v1/usage/records?cursor=${id}`, { apiKey: other.fullKey });
    assert.equal(foreign.status, 422);
  } finally {
    for (const app of [second, elsewhere]) await app.dispose();
  }
});
