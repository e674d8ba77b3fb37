// A key's requests per second come from the organization or its plan. A change takes effect after the next accepted request.
import assert from "node:assert/strict";
import { assertError, createTestKey, startTestApp, type TestApp } from "../../../support/app/app.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { changePlan, overridePlan } from "../../../support/operators/plans.ts";
import { onEveryDatabase, readSums, unlimited } from "../../../support/meter/usage.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

async function newKey(test: TestApp) {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  return { apiKey: fullKey, organizationId: person.organizationId };
}

/** Returns the response's status and what its headers say about the key's rate. */
async function outcome(response: Response): Promise<(string | number | null)[]> {
  await response.body?.cancel();
  const [limit, policy] = ["ratelimit", "ratelimit-policy"].map((name) => response.headers.get(name));
  return [response.status, ...(policy === null ? [] : [policy ?? null, limit?.split(";")[1] ?? null])];
}

onEveryDatabase("recording takes over the rate of the transaction for the next request", async (test) => {
  const { apiKey, organizationId } = await newKey(test);
  const record = () => test.send("/api/v1/usage", { apiKey, json: usage });
  const policy = (perSecond: number) => `"key";q=${perSecond};w=1`;
  assert.deepEqual(await outcome(await record()), [201], "the setting has no limit");

  await changePlan(test, "requests_per_second", 3);
  assert.deepEqual(await outcome(await record()), [201], "counted by the rate before");
  for (const left of ["r=2", "r=1", "r=0"]) {
    assert.deepEqual(await outcome(await record()), [201, policy(3), left]);
  }
  const { error } = await assertError(await record(), 429, "rate_limited");
  assert.match(error.message, /3 requests per second/);

  await overridePlan(test, organizationId, { requests_per_second: 5 });
  await assertError(await record(), 429, "rate_limited");
  test.advance(1_000);
  assert.deepEqual(await outcome(await record()), [201, policy(3), "r=2"]);
  assert.deepEqual(await outcome(await record()), [201, policy(5), "r=3"]);
  await overridePlan(test, organizationId, { requests_per_second: 2 });
  assert.deepEqual(await outcome(await record()), [201, policy(5), "r=2"]);
  assert.deepEqual(await outcome(await record()), [429, policy(2), "r=0"]);
  test.advance(1_000);
  assert.deepEqual(await outcome(await record()), [201, policy(2), "r=1"]);
  await overridePlan(test, organizationId, { requests_per_second: 0 });
  assert.deepEqual(await outcome(await record()), [201, policy(2), "r=0"]);
  assert.deepEqual(await outcome(await record()), [201]);
  await overridePlan(test, organizationId, { requests_per_second: null });
  assert.deepEqual(await outcome(await record()), [201]);
  assert.deepEqual(await outcome(await record()), [201, policy(3), "r=0"]);

  test.advance(1_000);
  const [sum] = await readSums(test, apiKey, "?window=total");
  assert.equal(sum?.sum, 13, "nothing was recorded for requests beyond the rate");
});

const requests = {
  "GET /api/v1/usage": (test: TestApp, apiKey: string) => test.send("/api/v1/usage", { apiKey }),
  "forward authentication": (test: TestApp, apiKey: string) =>
    test.send("/api/auth/forward?accept=key", { apiKey }),
  "forward authentication with a meter": (test: TestApp, apiKey: string) =>
    test.send("/api/auth/forward?accept=key&meter=tiles/requests", { apiKey }),
  "batches": (test: TestApp, apiKey: string) =>
    test.send("/api/v1/usage/batch", { apiKey, json: { records: [usage, usage] } }),
};

onEveryDatabase("every use of a key takes over the rate for the next request", async (test) => {
  for (const [name, send] of Object.entries(requests)) {
    const { apiKey, organizationId } = await newKey(test);
    const isAllowed = async () => {
      const response = await send(test, apiKey);
      await response.body?.cancel();
      return response.status < 300;
    };
    assert.equal(await isAllowed(), true, name);
    await overridePlan(test, organizationId, { requests_per_second: 1 });
    assert.equal(await isAllowed(), true, `${name}: counted by the rate before`);
    assert.deepEqual([await isAllowed(), await isAllowed()], [true, false], name);
    await overridePlan(test, organizationId, { requests_per_second: 2 });
    assert.equal(await isAllowed(), false, `${name}: a rejected request takes over nothing`);
    test.advance(1_000);
    assert.deepEqual([await isAllowed(), await isAllowed(), await isAllowed()], [true, true, false], name);
  }
});

onEveryDatabase("verifying a key takes the rate of now", async (test) => {
  const { apiKey, organizationId } = await newKey(test);
  const { fullToken } = await newOperatorToken(test);
  const verify = async () => {
    const response = await test.send("/api/v1/keys/verify", { apiKey: fullToken, json: { key: apiKey } });
    return (await response.json()).code;
  };
  assert.equal(await verify(), "VALID");
  await overridePlan(test, organizationId, { requests_per_second: 1 });
  assert.deepEqual([await verify(), await verify()], ["VALID", "RATE_LIMITED"]);
  await overridePlan(test, organizationId, { requests_per_second: 0 });
  assert.equal(await verify(), "VALID");
});

onEveryDatabase(
  "verifying and recording takes over the rate of the transaction for the next request",
  async (test) => {
    const { apiKey, organizationId } = await newKey(test);
    const { fullToken } = await newOperatorToken(test);
    const verify = async () => {
      const json = { key: apiKey, usage: { ...usage, record: true } };
      const response = await test.send("/api/v1/keys/verify", { apiKey: fullToken, json });
      return [response.status, (await response.json()).code];
    };
    assert.deepEqual(await verify(), [200, "VALID"], "the setting has no limit");
    await overridePlan(test, organizationId, { requests_per_second: 2 });
    for (const code of ["VALID", "VALID", "VALID", "RATE_LIMITED"]) {
      assert.deepEqual(await verify(), [
        200,
        code,
      ]);
    }
    await overridePlan(test, organizationId, { requests_per_second: 0 });
    // A rejected verification reads the key.
    assert.deepEqual([await verify(), await verify()], [[200, "RATE_LIMITED"], [200, "VALID"]]);
    assert.equal((await readSums(test, apiKey, "?window=total"))[0]?.sum, 5, "nothing beyond the rate");
  },
);

onEveryDatabase("other organizations record while a rate changes", async (test) => {
  const changed = await newKey(test);
  const other = await newKey(test);
  const record = async ({ apiKey }: { apiKey: string }) => {
    const response = await test.send("/api/v1/usage", { apiKey, json: usage });
    await response.body?.cancel();
    return response.status;
  };
  assert.deepEqual([await record(changed), await record(other)], [201, 201]);
  await overridePlan(test, changed.organizationId, { requests_per_second: 2 });
  for (const lastStatus of [201, 429]) {
    const statuses = await Promise.all([changed, other, changed, other, changed, other].map(record));
    assert.deepEqual(statuses, [201, 201, 201, 201, lastStatus, 201]);
  }
  assert.equal((await readSums(test, other.apiKey, "?window=total"))[0]?.sum, 7);
});

onEveryDatabase("a second server notices a change of the rate", async (test) => {
  const { apiKey, organizationId } = await newKey(test);
  const opened = { ...test.opened, dispose: () => Promise.resolve() };
  const second = await startTestApp(unlimited, { open: () => Promise.resolve(opened) });
  try {
    const record = async (server: TestApp) =>
      (await outcome(await server.send("/api/v1/usage", { apiKey, json: usage })))[0];
    assert.deepEqual([await record(test), await record(second)], [201, 201]);
    for (const perSecond of [1, 2, 1]) {
      await overridePlan(test, organizationId, { requests_per_second: perSecond });
      for (const server of [test, second]) {
        server.advance(1_000);
        assert.equal(await record(server), 201);
        server.advance(1_000);
        const statuses = [await record(server), await record(server)];
        assert.deepEqual(statuses, [201, perSecond === 1 ? 429 : 201]);
      }
    }
  } finally {
    await second.dispose();
  }
});
