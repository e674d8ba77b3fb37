// Verifying keys with several usages: asked about or recorded, all or nothing.
import assert from "node:assert/strict";
import { assertError, startTestApp, testApp } from "../../../support/app/app.ts";
import { watchedDatabase } from "../../../support/network/forward.ts";
import { onEveryDatabase, unlimited } from "../../../support/meter/usage.ts";
import { dollars, requests, tokens, verifiedScene } from "../../../support/meter/verified.ts";

onEveryDatabase("a list is recorded whole, with the ids in its order and each limit once", async (test) => {
  const { id, ask, addLimit, records, standings } = await verifiedScene(test);
  await addLimit("tokens", 1_000);
  await addLimit("", 2_000, { per: "month" });
  const properties = { model: "large" };
  const usage = [tokens, { ...dollars, properties }, { ...tokens, quantity: 100 }];
  for (const _ of ["after a read", "in the transaction alone"]) {
    const answer = await ask({ usage, record: true });
    assert.deepEqual([answer.code, answer.duplicates, answer.hold], ["VALID", 0, null]);
    assert.deepEqual(
      answer.limits.map(({ metric }: { metric: string | null }) => metric).sort(),
      [
        "tokens",
        null,
      ].sort(),
    );
    const recorded = new Map((await records()).map((one: { id: string }) => [one.id, one]));
    assert.deepEqual(
      answer.usageRecords.map((id: string) => recorded.get(id)).map((
        { metric, quantity, properties, apiKeyId }: Record<string, unknown>,
      ) => [
        metric,
        quantity,
        properties,
        apiKeyId,
      ]),
      [["tokens", 400, null, id], ["dollars", 0.02, properties, id], ["tokens", 100, null, id]],
    );
  }
  const full = await ask({ usage, record: true });
  assert.deepEqual([full.code, full.usageRecords, full.hold], ["USAGE_EXCEEDED", [], null]);
  assert.deepEqual(full.limits.map(({ used }: { used: number }) => used).sort(), [1_000, 1_000.04].sort());
  assert.deepEqual(await standings(), { tokens: [1_000, 0], all: [1_000.04, 0] });
});

onEveryDatabase(
  "a list fits only if it fits into every limit, added up, and otherwise nothing is recorded",
  async (test) => {
    const { ask, addLimit, standings } = await verifiedScene(test);
    await addLimit("tokens", 700);
    await addLimit("dollars", 1);
    await addLimit("", 1_000, { per: "month" });
    const cases = [
      [[tokens, { ...tokens, quantity: 300 }], "VALID"],
      [[tokens, { ...tokens, quantity: 301 }], "USAGE_EXCEEDED"],
      [[{ ...dollars, quantity: 1 }, { ...requests, quantity: 999 }], "VALID"],
      [[dollars, { ...requests, quantity: 999.98 }], "VALID"],
      [[dollars, { ...requests, quantity: 999.980001 }], "USAGE_EXCEEDED"],
      [[requests, { ...dollars, quantity: 1.000001 }], "USAGE_EXCEEDED"],
      [[{ ...tokens, quantity: 0 }, { ...dollars, quantity: 1.5 }], "USAGE_EXCEEDED"],
    ] as const;
    for (const [usage, expected] of cases) assert.equal((await ask({ usage })).code, expected);
    assert.deepEqual(await standings(), { tokens: [0, 0], dollars: [0, 0], all: [0, 0] });
    for (const [usage, expected] of cases) {
      if (expected === "VALID") continue;
      for (const how of [{ record: true }, { hold: true }]) {
        assert.equal((await ask({ usage, ...how })).code, expected);
      }
    }
    assert.deepEqual(await standings(), { tokens: [0, 0], dollars: [0, 0], all: [0, 0] });
    assert.equal((await ask({ usage: cases[0][0], record: true })).code, "VALID");
    assert.deepEqual(await standings(), { tokens: [700, 0], dollars: [0, 0], all: [700, 0] });
  },
);

onEveryDatabase(
  "what was recorded already fits always, is counted once, and has its first record",
  async (test) => {
    const { ask, addLimit, standings, records } = await verifiedScene(test);
    await addLimit("tokens", 1_000);
    const first = { ...tokens, idempotencyKey: "call-1" };
    const { usageRecords: [known] } = await ask({ usage: [first], record: true });
    const rest = { ...tokens, quantity: 600, idempotencyKey: "call-2" };
    const usage = [first, rest, first];
    for (
      const [more, expected] of [[[], "VALID"], [[{ ...tokens, quantity: 1 }], "USAGE_EXCEEDED"]] as const
    ) {
      assert.equal((await ask({ usage: [...usage, ...more] })).code, expected);
    }
    const both = await ask({ usage, record: true });
    assert.deepEqual([both.code, both.duplicates], ["VALID", 2]);
    assert.deepEqual([both.usageRecords[0], both.usageRecords[2]], [known, known]);
    const repeated = await ask({ usage, record: true });
    assert.deepEqual([repeated.code, repeated.duplicates], ["VALID", 3]);
    assert.deepEqual(repeated.usageRecords, both.usageRecords);
    assert.equal((await ask({ usage })).code, "VALID");
    assert.equal((await ask({ usage: [first, { ...tokens, quantity: 1 }] })).code, "USAGE_EXCEEDED");
    assert.deepEqual(await standings(), { tokens: [1_000, 0] });
    assert.equal((await records()).length, 2);
  },
);

onEveryDatabase("a conflict in a list names its usage, and nothing of the list is recorded", async (test) => {
  const { ask, send, records } = await verifiedScene(test);
  await ask({ usage: [{ ...tokens, idempotencyKey: "call-1" }], record: true });
  const other = { ...tokens, quantity: 1, idempotencyKey: "call-1" };
  for (
    const [usage, path] of [
      [[requests, other], "usage[1].idempotencyKey"],
      [[other], "usage[0].idempotencyKey"],
      [other, "usage.idempotencyKey"],
      [
        [{ ...dollars, idempotencyKey: "x" }, { ...requests, idempotencyKey: "x" }],
        "usage[1].idempotencyKey",
      ],
    ] as const
  ) {
    const { error } = await assertError(await send({ usage, record: true }), 409, "idempotency_conflict");
    assert.deepEqual(error.details?.map(({ path }) => path), [path]);
  }
  assert.equal((await records()).length, 1);
});

onEveryDatabase("concurrent lists are recorded and held exactly up to the limit", async (test) => {
  const { ask, addLimit, standings } = await verifiedScene(test);
  await addLimit("tokens", 5_000);
  const usage = [requests, tokens];
  const codes = await Promise.all(
    Array.from(
      { length: 40 },
      async (_, n) => (await ask({ usage, ...n % 2 === 0 ? { record: true } : { hold: true } })).code,
    ),
  );
  assert.equal(codes.filter((code) => code === "VALID").length, 12);
  const [used, held] = (await standings())["tokens"];
  assert.equal(used + held, 4_800);
});

testApp("what a question doesn't know or contradicts is an error with its path", async (test) => {
  const { send, records } = await verifiedScene(test);
  const many = Array(9).fill(tokens);
  const rows: readonly [object, string][] = [
    [{ usage: [] }, "usage"],
    [{ usage: many }, "usage"],
    [{ usage: "tokens" }, "usage"],
    [{ usage: [tokens, { ...tokens, quantity: -1 }] }, "usage[1].quantity"],
    [{ usage: [{ ...tokens, record: true }] }, "usage[0].record"],
    [{ usage: [{ ...tokens, timestamp: "2026-11-21T00:00:00Z" }] }, "usage[0].timestamp"],
    [{ usage: { ...tokens, hold: true } }, "usage.hold"],
    [{ record: true }, "usage"],
    [{ hold: true }, "usage"],
    [{ usage: tokens, record: true, hold: true }, "hold"],
    [{ usage: { ...tokens, record: true }, hold: {} }, "hold"],
    [{ usage: { ...tokens, record: true }, record: false }, "usage.record"],
    [{ usage: [{ ...tokens, idempotencyKey: "x" }], hold: true }, "usage[0].idempotencyKey"],
    [{ usage: { ...tokens, idempotencyKey: "x" }, hold: true }, "usage.idempotencyKey"],
    [{ usage: tokens, hold: false }, "hold"],
    [{ usage: tokens, hold: { expiresIn: 0 } }, "hold.expiresIn"],
    [{ usage: tokens, hold: { expiresIn: 86_401 } }, "hold.expiresIn"],
    [{ usage: tokens, hold: { onExpiry: "keep" } }, "hold.onExpiry"],
    [{ usage: tokens, hold: { seconds: 5 } }, "hold.seconds"],
  ];
  for (const [question, path] of rows) {
    const { error } = await assertError(await send(question), 422, "validation_failed");
    assert.deepEqual(error.details?.map((detail) => detail.path), [path], JSON.stringify(question));
  }
  assert.deepEqual(await records(), []);
});

testApp(
  "a single usage with its own record is answered as before, and a list of one says more",
  async (test) => {
    const { ask, records } = await verifiedScene(test);
    const before = ["valid", "code", "apiKey", "organization", "limits"];
    assert.deepEqual(Object.keys(await ask({ usage: { ...tokens, record: true } })), before);
    assert.deepEqual(Object.keys(await ask({ usage: tokens })), before);
    assert.deepEqual(Object.keys(await ask({})), before);
    const more = [...before, "usageRecords", "duplicates", "hold"];
    for (
      const question of [{ usage: [tokens] }, { usage: tokens, record: false }, { usage: tokens, hold: true }]
    ) {
      assert.deepEqual(Object.keys(await ask(question)), more);
    }
    const { usageRecords } = await ask({ usage: { ...tokens, record: true }, record: true });
    assert.equal(usageRecords.length, 1);
    assert.equal((await records()).length, 2);
  },
);

Deno.test("asking about a list is one read, and recording or holding it one transaction", async () => {
  const watched = watchedDatabase();
  const test = await startTestApp(unlimited, { open: watched.open });
  try {
    const { ask, addLimit } = await verifiedScene(test);
    await addLimit("tokens", 1_000_000);
    const usage = [requests, tokens, dollars];
    const costs: number[] = [];
    for (const how of [{}, { record: true }, { hold: true }]) {
      await ask({ usage, ...how });
      const before = watched.operations();
      assert.equal((await ask({ usage, ...how })).code, "VALID");
      costs.push(watched.operations() - before);
    }
    assert.deepEqual(costs, [1, 1, 1]);
  } finally {
    await test.dispose();
  }
});
