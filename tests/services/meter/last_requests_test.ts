// The last request with each key: what is noted, how often it is written, and when it is deleted.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { type Database, DatabaseError } from "../../../db/engine/database.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { LastRequests, readLastRequest } from "../../../services/meter/last_requests.ts";
import { networkOf } from "../../../services/address_blocks.ts";

const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

async function send(test: TestApp, apiKey: string, options: { peerAddress: string; userAgent?: string }) {
  const headers = { "user-agent": options.userAgent ?? "curl/8" };
  const response = await test.send("/api/v1/usage", { apiKey, json: usage, headers, ...options });
  await response.body?.cancel();
  return response.status;
}

Deno.test("networkOf() leaves out what tells clients of one network apart", () => {
  assert.equal(networkOf("203.0.113.77"), "203.0.113.0/24");
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1::/48");
  assert.equal(networkOf("::ffff:203.0.113.77"), "203.0.113.0/24");
  assert.equal(networkOf("unix"), "");
});

onEveryDatabase(
  "only the last request is kept, without control characters, and at most 200 of its user agent",
  async (test) => {
    const ada = await test.signUp();
    const key = await createTestKey(test, ada);
    const last = () => readLastRequest(test.services, [key]);
    assert.equal(await last(), null);
    await send(test, key.fullKey, { peerAddress: "198.51.100.1" });
    await test.services.lastRequests.flush();
    assert.equal((await last())?.network, "198.51.100.0/24");
    test.advance(10_000);
    await send(test, key.fullKey, { peerAddress: "2001:db8::1", userAgent: `node\t${"x".repeat(300)}` });
    await test.services.lastRequests.flush();
    assert.deepEqual(await last(), {
      at: new Date(test.now()).toISOString(),
      network: "2001:db8::/48",
      userAgent: `node ${"x".repeat(195)}`,
      status: 201,
      error: null,
    });
  },
);

onEveryDatabase(
  "a key is written once in ten seconds",
  async (test) => {
    const ada = await test.signUp();
    const key = await createTestKey(test, ada);
    const { lastRequests } = test.services;
    const network = async () => (await readLastRequest(test.services, [key]))?.network;
    for (const peerAddress of ["198.51.100.1", "203.0.113.1"]) {
      await send(test, key.fullKey, { peerAddress });
      await lastRequests.flush();
      assert.equal(await network(), "198.51.100.0/24");
    }
    test.advance(9_999);
    await lastRequests.flush();
    assert.equal(await network(), "198.51.100.0/24");
    test.advance(1);
    await lastRequests.flush();
    assert.equal(await network(), "203.0.113.0/24");
  },
);

onEveryDatabase("a use is kept after a failed write, and written when the server stops", async (test) => {
  const key = await createTestKey(test, await test.signUp());
  const { database, clock, config } = test.services;
  let isFailing = true;
  const write: Database["write"] = (...batch) =>
    isFailing
      ? Promise.reject(new DatabaseError("unavailable", "full"))
      : test.opened.database.write(...batch);
  const context = { config, clock, database: { ...database, write } };
  const lastRequests = new LastRequests(context, {
    onBackgroundError: (error) => assert.fail(String(error)),
  });
  lastRequests.note(hashApiKey(key.fullKey), 200, () => ({
    address: "198.51.100.1",
    userAgent: "",
    error: null,
  }));
  await assert.rejects(lastRequests.flush(), DatabaseError);
  isFailing = false;
  await lastRequests.close();
  assert.equal((await readLastRequest(test.services, [key]))?.status, 200);
});

Deno.test("a write that fails after the end starts no other one", async () => {
  const writing = Promise.withResolvers<never>();
  const timers: (() => Promise<void>)[] = [];
  const original = globalThis.setTimeout;
  globalThis.setTimeout = ((run: () => Promise<void>) => timers.push(run)) as unknown as typeof setTimeout;
  try {
    const database = { write: () => writing.promise } as unknown as Database;
    const context = { clock: () => 0, database } as unknown as ConstructorParameters<typeof LastRequests>[0];
    const lastRequests = new LastRequests(context, { onBackgroundError: () => {} });
    lastRequests.noteVerification("hash");
    const [flush] = timers;
    const flushed = flush?.();
    await lastRequests.close();
    writing.reject(new DatabaseError("unavailable", "closed"));
    await flushed;
    assert.equal(timers.length, 1);
  } finally {
    globalThis.setTimeout = original;
  }
});

onEveryDatabase("a request with a revoked key is not noted", async (test) => {
  const ada = await test.signUp();
  const key = await createTestKey(test, ada);
  await send(test, key.fullKey, { peerAddress: "198.51.100.1" });
  const revoked = await test.send(`/api/portal/api-keys/${key.id}`, { method: "DELETE", cookie: ada.cookie });
  assert.equal(revoked.status, 200);
  assert.equal(await send(test, key.fullKey, { peerAddress: "203.0.113.1" }), 401);
  await test.services.lastRequests.flush();
  assert.equal(await readLastRequest(test.services, [key]), null);
});

onEveryDatabase("the number of keys that wait to be written is bounded", (test) => {
  const { lastRequests } = test.services;
  let details = 0;
  for (let key = 0; key < 1_500; key++) {
    lastRequests.note(`hash ${key}`, 201, () => {
      details++;
      return { address: "198.51.100.1", userAgent: "", error: null };
    });
  }
  lastRequests.note("hash 0", 201, () => assert.fail("The same request is noted twice."));
  assert.equal(details, 1_000);
  lastRequests.close();
});

onEveryDatabase("busy keys leave room for others", async (test) => {
  const { lastRequests } = test.services;
  let noted = 0;
  const note = (key: string) =>
    lastRequests.note(key, 201, () => {
      noted++;
      return { address: "198.51.100.1", userAgent: "", error: null };
    });
  const noteBusy = () => Array.from({ length: 1_000 }, (_, key) => note(`busy ${key}`));
  noteBusy();
  for (let step = 0; step < 5; step++) await lastRequests.flush();
  noteBusy();
  assert.equal(noted, 1_500);
  note("other");
  assert.equal(noted, 1_501);
  lastRequests.close();
});

onEveryDatabase("deleting an organization deletes where its keys were used last", async (test) => {
  const ada = await test.signUp();
  const key = await createTestKey(test, ada);
  await send(test, key.fullKey, { peerAddress: "198.51.100.1" });
  await test.services.lastRequests.flush();
  assert(await readLastRequest(test.services, [key]) !== null);
  const { fullToken: apiKey } = await newOperatorToken(test);
  const path = `/api/operator/organizations/${ada.organizationId}`;
  assert.equal((await test.send(path, { method: "DELETE", apiKey })).status, 204);
  assert.equal(await readLastRequest(test.services, [key]), null);
});
