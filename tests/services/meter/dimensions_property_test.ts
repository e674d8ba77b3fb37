// Sums by properties against records that are added up one by one: random histories of records with and without properties, more values
// than a month lists, declarations, fillings, voids and retention, live and with test keys.
import assert from "node:assert/strict";
import { dimensionValuesMax } from "../../../domain/meter/dimension.ts";
import { deleteRemovedDimensions, fillDimensions } from "../../../services/meter/dimensions.ts";
import { deleteOldUsageRecords } from "../../../services/meter/usage_records.ts";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { runHistories } from "../../support/meter/histories.ts";
import {
  fromMillionths,
  millionths,
  onEveryDatabase,
  recordAll,
  voidOne,
} from "../../support/meter/usage.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

const day = 24 * 3_600_000;
const dimensions = [["region"], ["model", "region"], ["a", "constructor", "c"], ["constructor"]];

const recordArbitrary = fc.record({
  micros: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 0, max: 2 ** 46 })),
  ago: fc.oneof(fc.integer({ min: 0, max: 1_200_000 }), fc.integer({ min: 0, max: 34 * day })),
  properties: fc.dictionary(
    fc.constantFrom("region", "model", "a", "constructor", "other"),
    fc.constantFrom("", "x", "y", 'Zürich, "1"', "(none)"),
  ),
});
const stepArbitrary = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("record" as const),
      isTest: fc.boolean(),
      records: fc.array(recordArbitrary, { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("void" as const), at: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("declare" as const),
      which: fc.shuffledSubarray(dimensions, { maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("fill" as const), recordsMax: fc.integer({ min: 1, max: 30 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("flood" as const, "retain" as const) }) },
);
type Step = typeof stepArbitrary extends fc.Arbitrary<infer T> ? T : never;

const inRegion = (region: "x" | "y"): Step => ({
  do: "record",
  isTest: false,
  records: [{ micros: 1_000_000, ago: 0, properties: { region } }],
});
/** More values than a month lists; and a record that is voided before a new dimension has counted it. */
const examples: Step[][] = [
  [{ do: "flood" }, { do: "flood" }, { do: "void", at: 700 }],
  [
    { do: "declare", which: [] },
    inRegion("x"),
    inRegion("x"),
    { do: "declare", which: [["region"], ["constructor"]] },
    inRegion("x"),
    { do: "declare", which: [["constructor"], ["region"]] },
    { do: "void", at: 0 },
    { do: "fill", recordsMax: 1 },
    { do: "fill", recordsMax: 30 },
  ],
];

interface Counted {
  readonly id: string;
  readonly seq: number;
  readonly isTest: boolean;
  readonly micros: bigint;
  readonly time: number;
  readonly properties: Readonly<Record<string, string>>;
  isVoid: boolean;
  isDeleted: boolean;
}

/** A declared dimension as it should be. */
class Model {
  readonly #values = new Map<string, Set<string>>();
  readonly #rows = new Map<Counted, string>();

  constructor(readonly names: readonly string[], public unfilledSeq: number) {}

  #monthOf({ time, isTest }: Counted): string {
    return `${isTest} ${new Date(time).toISOString().slice(0, 7)}`;
  }

  count(records: readonly Counted[]): void {
    for (const record of records.toSorted((a, b) => a.seq - b.seq)) {
      if (record.isVoid) continue;
      const month = this.#monthOf(record);
      const values = this.#values.get(month) ?? new Set();
      this.#values.set(month, values);
      const value = JSON.stringify(
        this.names.map((name) => Object.hasOwn(record.properties, name) ? record.properties[name] : "(none)"),
      );
      if (values.size < dimensionValuesMax) values.add(value);
      this.#rows.set(record, values.has(value) ? value : JSON.stringify(this.names.map(() => "(other)")));
    }
  }

  fill(all: readonly Counted[], recordsMax: number): void {
    const old = all.filter(({ seq, isDeleted }) => !isDeleted && seq <= this.unfilledSeq);
    const some = old.slice(-recordsMax);
    this.count(some);
    this.unfilledSeq = some.length < old.length ? (some[0]?.seq ?? 0) - 1 : 0;
  }

  sums(isTest: boolean) {
    const sums = new Map<string, { micros: bigint; count: number; all: bigint[] }>();
    for (const [record, value] of this.#rows) {
      if (record.isVoid || record.isTest !== isTest) continue;
      const sum = sums.get(value) ?? { micros: 0n, count: 0, all: [] };
      sums.set(value, {
        micros: sum.micros + record.micros,
        count: sum.count + 1,
        all: [...sum.all, record.micros],
      });
    }
    return [...sums].sort(([a], [b]) => a < b ? -1 : 1);
  }
}

async function runHistory(
  test: TestApp,
  send: ReturnType<typeof asOperator>,
  steps: readonly Step[],
  name: string,
) {
  const person = await test.signUp();
  const keys = {
    live: (await createTestKey(test, person)).fullKey,
    test: (await createTestKey(test, person, { environment: "test" })).fullKey,
  };
  const metrics = (list: readonly string[][]) => [{ slug: name, name, dimensions: list }];
  await send("POST /products", { slug: name, name, metrics: metrics([]) });
  const all: Counted[] = [];
  let models: Model[] = [];
  let hasDeleted = false;
  const database = test.opened.database;
  const number = async (query: string) =>
    Number((await database.readFirst<{ n: number }>({ sql: query, args: [] }))?.n ?? 0);

  async function record(
    isTest: boolean,
    records: readonly { micros: number; ago: number; properties: Record<string, string> }[],
  ) {
    const apiKey = isTest ? keys.test : keys.live;
    const before = await number("SELECT seq AS n FROM usage_cursor");
    const sent = records.map(({ micros, ago, properties }) => ({
      ...{ productSlug: name, metric: name, properties, quantity: fromMillionths(BigInt(micros)) },
      timestamp: new Date(test.now() - ago).toISOString(),
    }));
    await recordAll(test, { apiKey, records: sent });
    const ids = await test.services.recorder.recordIds();
    const added = sent.map(({ quantity, timestamp, properties }, index) => ({
      id: ids.of({ seq: before + 1 + index, recordedAt: test.now() }),
      seq: before + 1 + index,
      micros: millionths(quantity),
      time: Date.parse(timestamp),
      ...{ isTest, properties, isVoid: false, isDeleted: false },
    }));
    all.push(...added);
    for (const model of models) model.count(added);
  }

  async function run(step: Step): Promise<void> {
    if (step.do === "record") await record(step.isTest, step.records);
    if (step.do === "flood") {
      const properties = (n: number) => ({ region: `r${n}`, a: n % 2 === 0 ? "x" : `a${n}` });
      await record(
        false,
        Array.from(
          { length: 600 },
          (_, n) => ({ micros: n, ago: 0, properties: properties(all.length + n) }),
        ),
      );
    }
    if (step.do === "void") {
      const some = all.filter(({ isVoid, isDeleted }) => !isVoid && !isDeleted);
      const one = some[step.at % Math.max(1, some.length)];
      if (one === undefined) return;
      await voidOne(test, { apiKey: one.isTest ? keys.test : keys.live, id: one.id });
      one.isVoid = true;
    }
    if (step.do === "declare") {
      const { status } = await send(`PATCH /products/${name}`, { metrics: metrics(step.which) });
      assert.equal(status, 200);
      const seq = all.length === 0 ? 0 : await number("SELECT seq AS n FROM usage_cursor");
      const wanted = step.which.map((names) => names.join());
      const known = models.map(({ names }) => names.join());
      // In the order of the database, in which they are filled: new ones are last, in the order of the request.
      models = [
        ...models.filter(({ names }) => wanted.includes(names.join())),
        ...step.which.filter((names) => !known.includes(names.join())).map((names) => new Model(names, seq)),
      ];
    }
    if (step.do === "fill") {
      await fillDimensions(test.services, { recordsMax: step.recordsMax, restMs: 0 });
      models.find(({ unfilledSeq }) => unfilledSeq > 0)?.fill(all, step.recordsMax);
      await deleteRemovedDimensions(test.services);
    }
    if (step.do === "retain") {
      test.advance(200 * day);
      while (await deleteOldUsageRecords(test.services));
      const oldest = await number("SELECT coalesce(min(seq), 1e15) AS n FROM usage_records");
      for (const one of all) if (one.seq < oldest) one.isDeleted = hasDeleted = true;
    }
  }

  async function check(): Promise<void> {
    for (
      const { names, ...model } of models.map((model) => ({
        names: model.names,
        sums: model.sums.bind(model),
      }))
    ) {
      for (const environment of ["live", "test"] as const) {
        const query = new URLSearchParams({
          productSlug: name,
          metric: name,
          environment,
          window: "total",
          from: "2020-01-01",
        });
        query.set("to", "2200-01-01");
        query.set("groupBy", names.map((one) => `properties.${one}`).join());
        const response = await test.send(`/api/v1/usage?${query}`, { apiKey: keys.live });
        const { data } = await response.json();
        const expected = model.sums(environment === "test");
        type Row = {
          properties: Record<string, string>;
          sum: number;
          count: number;
          min: number | null;
          max: number | null;
        };
        const found = (data as Row[]).map((row) =>
          [JSON.stringify(names.map((one) => row.properties[one])), row] as const
        )
          .sort(([a], [b]) => a < b ? -1 : 1);
        assert.deepEqual(
          found.map(([value, { sum, count }]) => [value, sum, count]),
          expected.map(([value, { micros, count }]) => [value, fromMillionths(micros), count]),
        );
        for (const [index, [, { min, max }]] of found.entries()) {
          const sorted = expected[index]?.[1].all.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0) ?? [];
          const [smallest, largest] = [fromMillionths(sorted[0] ?? 0n), fromMillionths(sorted.at(-1) ?? 0n)];
          assert.deepEqual([min ?? (hasDeleted ? smallest : null), max ?? (hasDeleted ? largest : null)], [
            smallest,
            largest,
          ]);
        }
      }
    }
  }

  try {
    for (const step of steps) {
      await run(step);
      await check();
    }
  } finally {
    // Filling counts the records of all histories.
    assert.equal((await send(`DELETE /products/${name}`)).status, 204);
    while (await deleteRemovedDimensions(test.services));
    await run({ do: "retain" });
  }
  const left =
    `SELECT count(*) AS n FROM usage_dimension_values v JOIN organizations o ON o.number = abs(v.organization)
    WHERE o.id = '${person.organizationId}'`;
  assert.equal(await number(left), 0);
  for (const length of ["", "_hourly", "_monthly"]) {
    const unowned = `SELECT count(*) AS n FROM usage_rollups${length} r WHERE r.series < 0
      AND NOT EXISTS (SELECT 1 FROM usage_dimension_series ds WHERE ds.id = -r.series)`;
    assert.equal(await number(unowned), 0);
  }
}

onEveryDatabase("sums by properties are those of the records, in random histories", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write"]);
  const send = asOperator(test, fullToken);
  const first: Step = { do: "declare", which: [["region"]] };
  let count = 0;
  await runHistories(
    fc.array(stepArbitrary, { minLength: 6, maxLength: 16 }),
    (steps) => runHistory(test, send, [first, ...steps], `m${count++}`),
    { rounds: repeats({ quick: 2, full: 4 }), examples, test },
  );
}, { USAGE_RETENTION_DAYS: "100" });
