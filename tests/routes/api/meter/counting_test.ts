// Metrics that count something else than sums: what the API, CSV, pages and statements say, and what is rejected.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { uniqueValuesMax } from "../../../../domain/meter/aggregation.ts";
import { deletedUsageKeptMs } from "../../../../domain/limits.ts";
import { deleteRemovedDimensions, fillDimensions } from "../../../../services/meter/dimensions.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../../services/people/organization_deletion.ts";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { asBilling } from "../../../support/meter/statements.ts";
import { usagePage } from "../../../support/portal/usage_page.ts";
import { onEveryDatabase, recordAll, recordOne, voidOne } from "../../../support/meter/usage.ts";

const metric = (slug: string, more: Record<string, unknown> = {}) => ({ slug, name: slug, ...more });
const seats = metric("seats", { dimensions: [["user"]], aggregation: "unique", uniqueProperty: "user" });

testApp("rejects unknown aggregations, and distinct values of what isn't declared", async (test) => {
  const { send } = await asBilling(test);
  const faultOf = async (one: Record<string, unknown>) => {
    const { status, body } = await send("POST /products", {
      slug: "p",
      name: "P",
      metrics: [{ ...seats, ...one }],
    });
    return [
      status,
      body.error.code,
      ...body.error.details.map(({ path, message }: Record<string, string>) => `${path} ${message}`),
    ];
  };
  const undeclared = "metrics[0].uniqueProperty must be one of the metric's dimensions of one property.";
  for (
    const one of [{ uniqueProperty: "city" }, { uniqueProperty: null }, { dimensions: [["city", "user"]] }]
  ) {
    assert.deepEqual(await faultOf(one), [422, "validation_failed", undeclared]);
  }
  assert.deepEqual(await faultOf({ aggregation: "average" }), [
    422,
    "validation_failed",
    "metrics[0].aggregation must be one of sum, count, max, last, unique.",
  ]);
  assert.deepEqual(await faultOf({ aggregation: "max" }), [
    422,
    "validation_failed",
    "metrics[0].uniqueProperty is only for the aggregation unique.",
  ]);
});

onEveryDatabase(
  "keeps the aggregation of metrics in closed months, and counts usage from before a change",
  async (test) => {
    const { send, close, lines } = await asBilling(test);
    const { fullToken } = await newOperatorToken(test, ["organizations:write"]);
    const person = await test.signUp();
    const { fullKey: apiKey } = await createTestKey(test, person);
    const metrics = (aggregation: string) => ({
      metrics: [metric("level", { aggregation }), metric("peak", { aggregation: "max" })],
    });
    await send("POST /products", { slug: "tiles", name: "Map tiles", ...metrics("sum") });
    for (const quantity of [5, 2]) await recordOne(test, apiKey, { metric: "level", quantity });
    const changed = await send("PATCH /products/tiles", metrics("last"));
    assert.deepEqual([changed.status, changed.body.product.metrics[0].aggregation], [200, "last"]);
    const counting = (aggregation: string) => ({ aggregation, uniqueProperty: null });
    assert.deepEqual(changed.body.recounted, [
      { metric: "level", from: counting("sum"), to: counting("last") },
    ]);
    const read = async () => {
      const response = await test.send("/api/v1/usage?window=total&groupBy=productSlug", { apiKey });
      return (await response.json()).data.map((
        { aggregation, value, sum }: Record<string, unknown>,
      ) => [aggregation, value, sum]);
    };
    // Unknown until it is counted, and until then no month can be closed.
    assert.deepEqual(await read(), [["last", null, 7]]);
    test.advance(31 * 86_400_000);
    const early = await send("POST /statements", { period: "2026-11" });
    assert.deepEqual([early.status, early.body.error.code], [503, "unavailable"]);
    while (await fillDimensions(test.services, { recordsMax: 1, restMs: 0 }));
    const { id } = await close("2026-11");
    assert.deepEqual(
      (await lines({ id })).map(({ metric, quantity, records }) => [metric, quantity, records]),
      [["level", "2", 2]],
    );
    const csv = (await send(`GET /statements/${id}.csv`)).body.split("\r\n");
    assert.match(csv[1], /,2,2,,,,,last$/);

    const fixed = await send("PATCH /products/tiles", metrics("max"));
    assert.deepEqual([fixed.status, fixed.body.error.code], [409, "aggregation_fixed"]);
    assert.match(fixed.body.error.message, /usage of “level” is closed.*must stay “last”/);
    // Metrics without usage in a closed month can change, and one that leaves the catalogue is counted as before.
    const peak = {
      metrics: [metric("level", { aggregation: "last" }), metric("peak", { aggregation: "count" })],
    };
    assert.equal((await send("PATCH /products/tiles", peak)).status, 200);
    assert.equal((await send("DELETE /products/tiles")).status, 204);
    const again = await send("POST /products", { slug: "tiles", name: "Map tiles", ...metrics("sum") });
    assert.equal(again.body.error.code, "aggregation_fixed");
    assert.equal((await send("POST /products", { slug: "tiles", name: "Map tiles", ...peak })).status, 201);
    assert.equal(
      (await asOperator(test, fullToken)(`DELETE /organizations/${person.organizationId}`)).status,
      204,
    );
    test.advance(deletedUsageKeptMs + 1);
    while (await deleteSomeOfDeletedOrganizations(test.services));
    assert.deepEqual(await test.opened.database.read(sql`SELECT * FROM usage_latest`), []);
  },
);

onEveryDatabase(
  "counts a distinct value once in an organization, up to a maximum, in the API, as CSV and on pages",
  async (test) => {
    const { send } = await asBilling(test);
    await send("POST /products", { slug: "tiles", name: "Map tiles", metrics: [seats] });
    await send("POST /products", {
      slug: "maps",
      name: "Maps",
      metrics: [metric("seats", { aggregation: "count" })],
    });
    const person = await test.signUp();
    const [one, two] = [await createTestKey(test, person), await createTestKey(test, person)];
    const seat = (user: string) => ({
      productSlug: "tiles",
      metric: "seats",
      quantity: 1,
      properties: { user },
    });
    await recordAll(test, { apiKey: one.fullKey, records: ["a", "b", "b"].map(seat) });
    await recordAll(test, {
      apiKey: two.fullKey,
      records: [seat("b"), { ...seat(""), properties: {} } as never],
    });
    const read = async (query: string) => {
      const response = await test.send(`/api/v1/usage?window=total&${query}`, { apiKey: one.fullKey });
      return (await response.json()).data.map((
        { aggregation, value, capped }: Record<string, unknown>,
      ) => [aggregation, value, capped]);
    };
    assert.deepEqual(await read("productSlug=tiles"), [["unique", 2, undefined]]);
    assert.deepEqual((await read("groupBy=apiKey")).sort(), [["unique", 1, undefined], [
      "unique",
      2,
      undefined,
    ]]);
    assert.deepEqual(await read("groupBy=properties.user"), [["unique", null, undefined], [
      "unique",
      null,
      undefined,
    ], ["unique", null, undefined]]);

    // The month is full: other values don't count, and voiding one of their records doesn't either.
    await test.opened.database.write([sql`UPDATE usage_unique_limits SET known = ${uniqueValuesMax - 1}`]);
    const [, late] = [
      await recordOne(test, two.fullKey, seat("c")),
      await recordOne(test, two.fullKey, seat("d")),
    ];
    assert.deepEqual(await read(""), [["unique", 3, true]]);
    await voidOne(test, { apiKey: two.fullKey, id: late.id });
    assert.deepEqual(await read(""), [["unique", 3, undefined]]);
    const csv = await test.send("/api/portal/usage.csv?window=total", { cookie: person.cookie });
    const [head = "", row = ""] = (await csv.text()).replace("\uFEFF", "").split("\r\n");
    assert.match(head, /,metric,sum,count,min,max,aggregation,value,capped$/);
    assert.match(row, /,seats,6,6,1,1,unique,3,false$/);
    const { html } = await usagePage(test, person, { metric: "seats" });
    assert.match(html, /Counted differently by product, added up/);

    await recordOne(test, one.fullKey, { productSlug: "maps", metric: "seats", quantity: 9 });
    assert.deepEqual(await read(""), [["mixed", null, undefined]]);
    assert.deepEqual((await read("groupBy=productSlug")).sort(), [["count", 1, undefined], [
      "unique",
      3,
      undefined,
    ]]);

    // Counted as a sum again, nothing is left of the values.
    await send("PATCH /products/tiles", { metrics: [metric("seats")] });
    while (await deleteRemovedDimensions(test.services));
    for (const table of ["values", "limits", "quarters", "months", "added"]) {
      assert.deepEqual(
        await test.opened.database.read({ sql: `SELECT * FROM usage_unique_${table}`, args: [] }),
        [],
      );
    }
  },
);

onEveryDatabase(
  "counts a key alone when a query names it, and its rotations with mergeRotations",
  async (test) => {
    const { send } = await asBilling(test);
    const counted = ["count", "max", "last"].map((aggregation) => metric(aggregation, { aggregation }));
    await send("POST /products", { slug: "tiles", name: "Map tiles", metrics: [...counted, seats] });
    const { cookie, ...person } = await test.signUp();
    const old = await createTestKey(test, { cookie, ...person });
    const rotated = await test.send(`/api/portal/api-keys/${old.id}/rotate`, { cookie, json: {} });
    const { fullKey } = await rotated.json();
    const records = (quantity: number, user: string) =>
      ["count", "max", "last", "seats"].map((metric) => ({
        ...{ productSlug: "tiles", metric, quantity, properties: { user } },
      }));
    await recordAll(test, { apiKey: old.fullKey, records: records(1, "a") });
    await recordAll(test, { apiKey: fullKey, records: [...records(5, "b"), ...records(4, "c")] });
    const read = async (query: string) => {
      const path = `/api/v1/usage?window=total&groupBy=metric&apiKey=${old.id}&${query}`;
      const { data } = await (await test.send(path, { apiKey: fullKey })).json();
      return data.map(({ metric, value }: { metric: string; value: number }) => [metric, value]);
    };
    assert.deepEqual(await read(""), [["count", 1], ["last", 1], ["max", 1], ["seats", 1]]);
    assert.deepEqual(await read("mergeRotations=true"), [["count", 3], ["last", 4], ["max", 5], [
      "seats",
      3,
    ]]);
  },
);

onEveryDatabase(
  "voiding a record that a changed metric has not counted yet leaves the values of others",
  async (test) => {
    const { send } = await asBilling(test);
    const dimensions = [["user"]];
    await send("POST /products", {
      slug: "tiles",
      name: "Map tiles",
      metrics: [metric("seats", { dimensions })],
    });
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    const record = (user: string) => recordOne(test, apiKey, { metric: "seats", properties: { user } });
    const [same, other] = [await record("ada"), await record("cid")];
    assert.equal((await send("PATCH /products/tiles", { metrics: [seats] })).status, 200);
    await record("ada");
    // The month is full, so that the last record counts for none of its values.
    await test.opened.database.write([sql`UPDATE usage_unique_limits SET known = ${uniqueValuesMax}`]);
    await record("bob");
    for (const { id } of [same, other]) await voidOne(test, { apiKey, id });
    const read = async () => {
      const { data } = await (await test.send("/api/v1/usage?window=total&metric=seats", { apiKey })).json();
      return data.map(({ value, capped, count }: Record<string, unknown>) => [value, capped, count]);
    };
    while (await fillDimensions(test.services, { restMs: 0 }));
    assert.deepEqual(await read(), [[1, true, 2]]);
  },
);

onEveryDatabase(
  "closes months in which the changed metric was not used before its usage is counted",
  async (test) => {
    const { send, close, lines } = await asBilling(test);
    const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
    const of = (aggregation: string) => ({ metrics: [metric("level", { aggregation })] });
    await send("POST /products", { slug: "tiles", name: "Map tiles", ...of("sum") });
    await recordOne(test, apiKey, { metric: "other", quantity: 1, timestamp: "2026-10-25T00:00:00.000Z" });
    for (const quantity of [5, 2]) await recordOne(test, apiKey, { metric: "level", quantity });
    assert.equal((await send("PATCH /products/tiles", of("last"))).status, 200);
    const linesOf = async (id: string) =>
      (await lines({ id })).map(({ metric, quantity }) => [metric, quantity]);
    assert.deepEqual(await linesOf((await close("2026-10")).id), [["other", "1"]]);
    test.advance(31 * 86_400_000);
    assert.equal((await send("POST /statements", { period: "2026-11" })).status, 503);
    while (await fillDimensions(test.services, { restMs: 0 }));
    assert.deepEqual(await linesOf((await close("2026-11")).id), [["level", "2"]]);
  },
);
