// What the clients of both languages promise about lists of usage and holds. gatehouse_test.ts runs these cases.
import assert from "node:assert/strict";
import { createTestKey } from "../support/app/app.ts";
import type { ClientScene } from "../support/client/any_client.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { addLimit } from "../support/meter/limits.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";
import { newOperatorToken } from "../support/operators/operators.ts";

const tiles = { product: "tiles", metric: "requests" };
const bytes = { product: "tiles", metric: "bytes", quantity: 500 };
type Case = (scene: ClientScene) => Promise<void>;

/** A client with a token, and a limit of 1,000 bytes. */
async function holding({ newClient, line, test, person }: ClientScene, url = line.url) {
  const { fullToken: operatorToken } = await newOperatorToken(test, ["keys:verify", "usage:write"]);
  const { organizationId } = person;
  const limit = {
    productSlug: "tiles",
    metric: "bytes",
    per: "total",
    quantity: 1_000,
    mode: "hard",
  } as const;
  await addLimit(test, { organizationId }, limit);
  return newClient({ url, operatorToken });
}

const recordsLists: Case = async (scene) => {
  const { key, test } = scene;
  const { verify } = await holding(scene);
  const usage = [tiles, { ...bytes, idempotencyKey: "once" }];
  const asked = await verify(key, { usage });
  assert.deepEqual([asked.code, asked.usageRecords, asked.hold], ["VALID", [], null]);
  const recorded = await verify(key, { usage, record: true });
  assert.deepEqual([recorded.code, recorded.usageRecords.length, recorded.duplicates], ["VALID", 2, 0]);
  const again = await verify(key, { usage, record: true });
  assert.deepEqual([again.duplicates, again.usageRecords[1]], [1, recorded.usageRecords[1]]);
  assert.equal((await verify(key, { usage: [bytes, bytes], record: true })).code, "USAGE_EXCEEDED");
  assert.deepEqual(await usageOf(test, key), { bytes: [500, 1], requests: [2, 2] });
  const malformed = await verify("", { usage, hold: undefined });
  assert.deepEqual([malformed.code, malformed.usageRecords, malformed.hold], ["NOT_FOUND", [], null]);
};

const holdsByVerification: Case = async (scene) => {
  const { key, keyId, test } = scene;
  const { verify, settle, extend, release } = await holding(scene);
  const { hold, code } = await verify(key, { usage: [tiles, bytes], hold: true });
  assert.deepEqual([code, hold.status, hold.apiKeyId], ["VALID", "active", keyId]);
  const terms = { expiresIn: 60, onExpiry: "record", idempotencyKey: "job" } as const;
  const second = await verify(key, { usage: bytes, hold: terms });
  assert.deepEqual([second.hold.onExpiry, second.limits[0].held], ["record", 1_000]);
  assert.equal((await verify(key, { usage: bytes, hold: terms })).hold.id, second.hold.id);
  assert.deepEqual([(await verify(key, { usage: bytes, hold: true })).code], ["USAGE_EXCEEDED"]);
  const extended = await extend(second.hold.id, { expiresIn: 900 });
  assert(extended.expiresAt > second.hold.expiresAt);
  assert.equal((await release(second.hold.id)).status, "released");
  const usage = [{ ...bytes, quantity: 0.1 + 0.2, properties: { model: "large" } }];
  const settled = await settle(hold.id, usage);
  assert.deepEqual([settled.hold.status, settled.usageRecords[0].quantity, settled.beyond], [
    "settled",
    0.3,
    [],
  ]);
  assert.equal((await settle(hold.id, usage)).usageRecords[0].id, settled.usageRecords[0].id);
  assert.deepEqual(await usageOf(test, key), { bytes: [0.3, 1] });
};

const holdsForCustomers: Case = async (scene) => {
  const { person, keyId, key, test } = scene;
  const { hold, settle, release, fault } = await holding(scene);
  const made = await hold({ usage: [bytes], organizationId: person.organizationId, expiresIn: 60 });
  assert.deepEqual([made.hold.apiKeyId, made.limits[0].held], [null, 500]);
  const ofKey = await hold({ usage: bytes, apiKeyId: keyId, onExpiry: "record" });
  assert.deepEqual([ofKey.hold.apiKeyId, ofKey.hold.onExpiry], [keyId, "record"]);
  const full = await fault(() => hold({ usage: [bytes], apiKeyId: keyId }));
  assert.deepEqual([full.code, full.status, full.details.length], ["limit_exceeded", 429, 1]);
  assert.deepEqual((await settle(made.hold.id, [])).usageRecords, []);
  const ended = await fault(() => release(made.hold.id));
  assert.deepEqual([ended.code, ended.status], ["hold_ended", 409]);
  await release(ofKey.hold.id);
  const own = await test.send("/api/v1/holds", {
    apiKey: key,
    json: { records: [{ productSlug: "tiles", metric: "requests", quantity: 1 }] },
  });
  const { id } = (await own.json()).hold;
  assert.equal((await fault(() => release(id))).code, "validation_failed");
  assert.equal((await release(id, { reason: "Lost." })).status, "released");
};

const holdsOnce: Case = async (scene) => {
  const { line, keyId, test, person } = scene;
  const proxy = startTcpProxy({ targetPort: Number(new URL(line.url).port) });
  try {
    const { hold, settle } = await holding(scene, proxy.url);
    proxy.loseAnswers({ count: 1 });
    const made = await hold({ usage: [bytes], apiKeyId: keyId });
    assert.equal(proxy.answersToLose, 0);
    proxy.loseAnswers({ count: 1 });
    const settled = await settle(made.hold.id, [{ ...bytes, quantity: 7 }]);
    assert.equal(settled.usageRecords.length, 1);
    const { fullKey } = await createTestKey(test, person);
    assert.deepEqual(await usageOf(test, fullKey), { bytes: [7, 1] });
    const { holds } = await (await test.send("/api/v1/holds", { apiKey: fullKey })).json();
    assert.deepEqual(holds.map(({ status }: { status: string }) => status), ["settled"]);
  } finally {
    await proxy.close();
  }
};

const rejectsUnknown: Case = async (scene) => {
  const { newClient, line, keyId } = scene;
  const { verify, hold, settle } = newClient({ url: line.url, operatorToken: "unused" });
  await assert.rejects(verify("key", { usage: tiles, hold: { expiresln: 5 } as never }), /expiresln/);
  await assert.rejects(verify("key", { usage: [{ ...tiles, quanity: 5 } as never] }), /quanity/);
  await assert.rejects(verify("key", { usage: [{ ...tiles, record: true } as never] }), /record/);
  await assert.rejects(hold({ usage: [tiles as never], apiKeyId: keyId }), /quantity/);
  await assert.rejects(hold({ usage: [bytes], apiKeyId: keyId, expiresln: 5 } as never), /expiresln/);
  await assert.rejects(settle("hld_1", [{ ...bytes, idempotencyKey: "x" } as never]), /idempotency/);
  await assert.rejects(settle("../usage", []), /by its id/);
};

export const clientHoldCases: Record<string, Case> = {
  "records a list of usage, all or nothing, and each idempotency key once": recordsLists,
  "holds usage while it verifies a key, and ends the hold": holdsByVerification,
  "holds for organizations and keys": holdsForCustomers,
  "holds and settles once if a connection is lost": holdsOnce,
  "rejects unknown options of holds": rejectsUnknown,
};
