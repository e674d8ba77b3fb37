// Usage by properties over the API, with keys, sessions and for operators, on both kinds of database.
import assert from "node:assert/strict";
import { dimensionValuesMax } from "../../../../domain/meter/dimension.ts";
import { fillDimensions } from "../../../../services/meter/dimensions.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { listAll, onEveryDatabase, readSums, recordAll, recordOne } from "../../../support/meter/usage.ts";

const metric = (slug: string, dimensions: string[][]) => ({
  slug,
  name: slug,
  unit: null,
  unitPrice: null,
  dimensions,
});
const product = {
  slug: "tiles",
  name: "Map tiles",
  metrics: [metric("requests", [["region"], ["type", "model"]]), metric("bytes", [])],
};

async function scene(test: TestApp) {
  const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write", "usage:read"]);
  const send = asOperator(test, fullToken);
  assert.equal((await send("POST /products", product)).status, 201);
  const person = await test.signUp();
  const { fullKey: apiKey, id: apiKeyId } = await createTestKey(test, person);
  return { ...person, send, apiKey, apiKeyId };
}

const sent = (quantity: number, properties?: Record<string, string>, more: { timestamp?: string } = {}) => ({
  productSlug: "tiles",
  metric: "requests",
  quantity,
  ...(properties && { properties }),
  ...more,
});

onEveryDatabase(
  "groups and filters sums by properties, as JSON and CSV, for keys, sessions and operators",
  async (test) => {
    const { send, apiKey, apiKeyId, cookie } = await scene(test);
    await recordAll(test, {
      apiKey,
      records: [
        sent(1, { region: "eu", model: "m", type: "in" }),
        sent(2.5, { region: "eu", model: "m", type: "out" }),
        sent(4, { region: "=us", model: "n", type: "in" }),
        sent(8, {}),
        sent(16, { region: "eu" }, { timestamp: new Date(test.now() - 24 * 3_600_000).toISOString() }),
        { ...sent(32, { region: "eu" }), metric: "bytes" },
      ],
    });
    const sums = async (query: string) =>
      (await readSums(test, apiKey, `?window=total&${query}`)).map(({ properties, sum, count }) => [
        ...Object.values(properties ?? {}),
        sum,
        count,
      ]);
    assert.deepEqual(await sums("metric=requests&groupBy=properties.region"), [
      ["(none)", 8, 1],
      ["=us", 4, 1],
      ["eu", 19.5, 3],
    ]);
    // The smallest dimension that has the property.
    assert.deepEqual(await sums("metric=requests&groupBy=properties.model"), [
      ["(none)", 24, 2],
      ["m", 3.5, 2],
      ["n", 4, 1],
    ]);
    assert.deepEqual(await sums("groupBy=properties.type,properties.model&metric=requests"), [
      ["(none)", "(none)", 24, 2],
      ["in", "m", 1, 1],
      ["in", "n", 4, 1],
      ["out", "m", 2.5, 1],
    ]);
    assert.deepEqual(await sums("properties.type=in&groupBy=properties.model"), [["m", 1, 1], ["n", 4, 1]]);
    assert.deepEqual(await sums("properties.region=eu&properties.region=(none)"), [[27.5, 4]]);
    assert.deepEqual(await sums(`properties.region=eu&apiKey=${apiKeyId}`), [[19.5, 3]]);
    assert.deepEqual(await sums("properties.region=nowhere"), []);
    // As generated clients send them, mixed with the other form.
    for (
      const [query, expected] of [
        ["properties=type%3Din&groupBy=properties.model", [["m", 1, 1], ["n", 4, 1]]],
        ["properties=region=eu&properties=region%3D(none)", [[27.5, 4]]],
        ["properties=region=eu&properties.region=(none)", [[27.5, 4]]],
        ["properties=region=nowhere", []],
      ] as const
    ) assert.deepEqual(await sums(query), expected, query);
    const byDay = await readSums(
      test,
      apiKey,
      "?groupBy=metric,productSlug,properties.region&properties.region=eu",
    );
    assert.deepEqual(
      byDay.map(({ start, metric, properties, sum, min, max }) => [
        start.slice(0, 10),
        metric,
        properties,
        ...[sum, min, max],
      ]),
      [
        ["2026-11-20", "requests", { region: "eu" }, 16, 16, 16],
        ["2026-11-21", "requests", { region: "eu" }, 3.5, 1, 2.5],
      ],
    );
    const query = "?window=total&metric=requests&groupBy=properties.region";
    const csv = await test.send(`/api/portal/usage.csv${query}&properties.region=%3Dus`, { cookie });
    const [head, row] = (await csv.text()).replace("\uFEFF", "").split("\r\n");
    assert.equal(head, "start,end,properties.region,sum,count,min,max");
    assert.match(row ?? "", /,'=us,4,1,4,4$/);

    const listed = async (query: string) =>
      (await listAll(test, apiKey, query)).map(({ quantity }) => quantity).sort((a, b) => a - b);
    assert.deepEqual(await listed("properties.region=eu"), [1, 2.5, 16, 32]);
    assert.deepEqual(await listed("properties.region=eu&properties.model=(none)&metric=requests"), [16]);
    assert.deepEqual(await listed("properties.region=(none)&properties.region=%3Dus"), [4, 8]);
    assert.deepEqual(await listed("properties=region%3D(none)&properties=region%3D%3Dus"), [4, 8]);

    const other = await createTestKey(test, await test.signUp());
    await recordOne(test, other.fullKey, sent(64, { region: "eu" }));
    const all = (await send(`GET /usage${query}`)).body;
    assert.deepEqual(
      all.data.map(({ properties, sum }: { properties: unknown; sum: number }) => [properties, sum]),
      [[{ region: "(none)" }, 8], [{ region: "=us" }, 4], [{ region: "eu" }, 83.5]],
    );
    assert.deepEqual([all.overflow, all.completeSince], [false, null]);
    const each = (await send(`GET /usage${query},organization&properties.region=eu`)).body.data;
    const again = (await send(`GET /usage${query},organization&properties=region%3Deu`)).body.data;
    assert.deepEqual(again, each);
    assert.deepEqual(each.map(({ sum }: { sum: number }) => sum), [19.5, 64]);
  },
);

onEveryDatabase("rejects properties without a dimension, and says which exist", async (test) => {
  const { send, apiKey } = await scene(test);
  const errorOf = async (query: string) => {
    const { error } = await (await test.send(`/api/v1/usage?${query}`, { apiKey })).json();
    return [error.code, error.details?.[0]?.path ?? error.message];
  };
  const exist = "Dimensions: region of tiles/requests, model + type of tiles/requests.";
  assert.deepEqual(await errorOf("groupBy=properties.city"), [
    "dimension_unknown",
    `Usage isn't summed by city. ${exist}`,
  ]);
  assert.deepEqual(await errorOf("groupBy=properties.model&properties.region=eu"), [
    "dimension_unknown",
    `Usage isn't summed by model and region. ${exist}`,
  ]);
  assert.deepEqual(await errorOf("groupBy=properties.region&metric=bytes"), [
    "dimension_unknown",
    "Usage isn't summed by region. No metric of this query has dimensions.",
  ]);
  assert.equal((await errorOf("groupBy=properties.region&metric=bytes,requests"))[0], "dimension_unknown");
  // Names of members of every object.
  assert.equal((await errorOf("groupBy=properties.constructor"))[0], "dimension_unknown");
  assert.equal((await errorOf("properties.__proto__=x"))[0], "validation_failed");
  assert.equal((await errorOf("groupBy=properties.region&productSlug=other"))[0], "dimension_unknown");
  assert.deepEqual(await errorOf("groupBy=properties."), ["validation_failed", "groupBy"]);
  assert.deepEqual(await errorOf("properties.1a=x"), ["validation_failed", "properties.1a"]);
  for (const query of ["properties=x", "properties=a=1&properties=x", "properties=__proto__%3Dx"]) {
    assert.deepEqual(await errorOf(query), ["validation_failed", "properties"], query);
  }
  assert.deepEqual(await errorOf("properties=1a%3Dx"), ["validation_failed", "properties.1a"]);
  assert.equal((await errorOf("properties=constructor%3Dx"))[0], "dimension_unknown");
  assert.deepEqual(await errorOf("properties.a=1&properties.b=1&properties.c=1&properties.d=1"), [
    "validation_failed",
    "properties",
  ]);
  const faultOf = async (...dimensions: unknown[]) => {
    const { body } = await send("PATCH /products/tiles", {
      metrics: [metric("requests", dimensions as never)],
    });
    return body.error.details.map(({ path, message }: Record<string, string>) => `${path} ${message}`).join();
  };
  const at = "metrics[0].dimensions";
  assert.equal(await faultOf(["a"], ["b"], ["c"], ["d"]), `${at} must have at most 3 dimensions.`);
  assert.equal(await faultOf(["a", "b", "c", "d"]), `${at}[0] must have at most 3 properties.`);
  assert.equal(await faultOf([]), `${at}[0] must have at least one property.`);
  assert.equal(await faultOf(["a", "a"]), `${at}[0][1] is already in the list.`);
  assert.equal(await faultOf(["a", "b"], ["b", "a"]), `${at}[1] is already in the list.`);
  assert.match(await faultOf(["a b"]), /dimensions\[0\]\[0\] must be 1 to 64 letters/);
  for (const properties of [{ region: 1 }, { region: null }, { region: ["eu"] }]) {
    const response = await test.send("/api/v1/usage", { apiKey, json: { ...sent(1), properties } });
    const { error } = await response.json();
    assert.deepEqual([error.code, error.details[0].path], ["validation_failed", "properties.region"]);
  }
});

onEveryDatabase(
  "says when values are counted as others, and since when a dimension is complete",
  async (test) => {
    const { send, apiKey } = await scene(test);
    const read = async (query: string) => {
      const path = `/api/v1/usage?window=total&metric=requests&${query}`;
      return await (await test.send(path, { apiKey })).json();
    };
    await recordAll(test, {
      apiKey,
      records: Array.from(
        { length: dimensionValuesMax + 2 },
        (_, n) => sent(1, { region: `r${n}`, city: "x" }),
      ),
    });
    const { overflow, completeSince, data } = await read("groupBy=properties.region");
    assert.deepEqual([overflow, completeSince, data.length], [true, null, dimensionValuesMax + 1]);
    const others = await read("properties.region=(other)");
    assert.deepEqual([others.overflow, others.data[0].sum], [true, 2]);
    const old = await read("groupBy=properties.region&from=2026-10-01&to=2026-11-01");
    assert.deepEqual([old.overflow, old.data], [false, []]);
    const changed = { metrics: [metric("requests", [["city"]])] };
    assert.equal((await send("PATCH /products/tiles", changed)).status, 200);
    const before = await read("groupBy=properties.city");
    assert.equal(before.completeSince, new Date(test.now() + 5 * 60_000).toISOString());
    while (await fillDimensions(test.services, { restMs: 0 }));
    const after = await read("groupBy=properties.city");
    assert.deepEqual([after.completeSince, after.data[0].sum], [null, dimensionValuesMax + 2]);
  },
);
