// Limits per value: each value of a property has a counter and the limit's quantity of its own.
import assert from "node:assert/strict";
import { addLimit } from "../../../support/meter/limits.ts";
import { holdScene } from "../../../support/meter/holds.ts";
import { onBothDatabases } from "../../../support/meter/usage.ts";

const ofUser = (user: string) => ({ properties: { user } });

onBothDatabases("each value has the limit's quantity, exactly", async (test) => {
  const { record, limitId } = await holdScene(test, { per: "day", quantity: 5, by: "user" });
  const responses = await Promise.all(
    Array.from({ length: 24 }, (_, n) => record(1, ofUser(`u${n % 3}`))),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [
    ...Array.from({ length: 15 }, () => 201),
    ...Array.from({ length: 9 }, () => 429),
  ], test.logged());
  const rejected = await record(1, ofUser("u1"));
  assert.deepEqual([rejected.status, rejected.body.error.code], [429, "limit_exceeded"]);
  assert.deepEqual(rejected.body.error.details, [{
    limitId,
    productSlug: null,
    metric: null,
    per: "day",
    by: "user",
    value: "u1",
    mode: "hard",
    quantity: 5,
    used: 5,
    held: 0,
    remaining: 0,
    resetsAt: "2026-11-22T00:00:00.000Z",
    countsFrom: "2026-11-21T11:00:00.000Z",
  }]);
  const none = await record(2);
  assert.equal(none.status, 201);
  assert.deepEqual(
    none.body.limits.map(({ by, value, used }: Record<string, unknown>) => [by, value, used]),
    [["user", "(none)", 2]],
  );
});
