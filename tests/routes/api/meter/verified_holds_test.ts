// Holds by verification: made with the key's verification, and ended by operators.
import assert from "node:assert/strict";
import { sql, type Statement } from "../../../../db/engine/database.ts";
import { assertError } from "../../../support/app/app.ts";
import { testMeanwhile } from "../../../support/app/meanwhile.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { requests, tokens, verifiedScene } from "../../../support/meter/verified.ts";
import { run } from "../../../support/people/scene.ts";

onEveryDatabase("a hold by verification takes room, and its token ends it", async (test) => {
  const { id, ask, addLimit, standings, records, verifier } = await verifiedScene(test);
  await addLimit("tokens", 1_000);
  const answer = await ask({ usage: [requests, tokens], hold: true });
  assert.deepEqual([answer.code, answer.usageRecords, answer.duplicates], ["VALID", [], 0]);
  const { hold } = answer;
  assert.deepEqual([hold.status, hold.heldBy, hold.apiKeyId, hold.onExpiry], [
    "active",
    "operator",
    id,
    "release",
  ]);
  assert.equal(Date.parse(hold.expiresAt) - Date.parse(hold.createdAt), 600_000);
  assert.deepEqual(answer.limits.map(({ held }: { held: number }) => held), [400]);
  assert.equal((await ask({ usage: { ...tokens, quantity: 601 }, hold: true })).hold, null);
  const second = await ask({
    usage: { ...tokens, quantity: 600 },
    hold: { expiresIn: 60, onExpiry: "record" },
  });
  assert.deepEqual([second.hold.onExpiry, second.organization.id !== ""], ["record", true]);
  assert.deepEqual(await standings(), { tokens: [0, 1_000] });
  const extended = await verifier(`POST /holds/${second.hold.id}/extend`, { expiresIn: 900 });
  assert.equal(Date.parse(extended.body.hold.expiresAt), test.now() + 900_000);
  const settled = await verifier(`POST /holds/${hold.id}/settle`, {
    records: [{ ...tokens, quantity: 250 }],
  });
  assert.equal(settled.status, 201);
  assert.equal((await verifier(`POST /holds/${second.hold.id}/release`)).body.hold.status, "released");
  assert.deepEqual(await standings(), { tokens: [250, 0] });
  assert.deepEqual((await records()).map(({ apiKeyId }: { apiKeyId: string }) => apiKeyId), [id]);
  const again = await verifier(`POST /holds/${hold.id}/settle`, { records: [{ ...tokens, quantity: 250 }] });
  assert.deepEqual([again.status, again.body.usageRecords.length], [200, 1]);
});

onEveryDatabase(
  "a hold's idempotency key makes one hold, of one key and one kind of holder",
  async (test) => {
    const { person, ask, send, addLimit, reader, standings } = await verifiedScene(test);
    await addLimit("tokens", 400);
    const question = { usage: [tokens], hold: { idempotencyKey: "job-1" } };
    const first = await ask(question);
    const repeated = await ask(question);
    assert.deepEqual([repeated.code, repeated.hold, repeated.duplicates], ["VALID", first.hold, 1]);
    assert.equal(repeated.apiKey.id, first.apiKey.id);
    const conflict = async (more: object) =>
      (await assertError(await send({ ...question, ...more }), 409, "idempotency_conflict")).error.details;
    assert.deepEqual((await conflict({ usage: [requests] }))?.map(({ path }) => path), [
      "hold.idempotencyKey",
    ]);
    await conflict({ key: reader.fullKey });
    // A customer's own hold is not the operator's, who could be left without it.
    const records = [tokens];
    const own = (json: object) => test.send("/api/v1/holds", { apiKey: reader.fullKey, json });
    await assertError(await own({ records, idempotencyKey: "job-1" }), 409, "idempotency_conflict");
    assert.equal((await own({ records: [requests], idempotencyKey: "job-2" })).status, 201);
    await conflict({ key: reader.fullKey, usage: [requests], hold: { idempotencyKey: "job-2" } });
    assert.deepEqual(await standings(), { tokens: [0, 400] });
    assert.notEqual(person.organizationId, "");
  },
);

onEveryDatabase(
  "only operators end what was held by verification, and keys:verify ends nothing else",
  async (test) => {
    const { person, id, ask, reader, verifier } = await verifiedScene(test);
    const { hold } = await ask({ usage: tokens, hold: true });
    const asKey = async (path: string, json: object = {}) =>
      await test.send(`/api/v1/holds/${hold.id}${path}`, { apiKey: reader.fullKey, json });
    await assertError(await asKey("/release"), 403, "hold_of_operator");
    await assertError(await asKey("/settle", { records: [] }), 403, "hold_of_operator");
    await assertError(await asKey("/extend", { expiresIn: 60 }), 403, "hold_of_operator");
    const writer = asOperator(test, (await newOperatorToken(test, ["usage:write"])).fullToken);
    const held = await writer("POST /holds", { organizationId: person.organizationId, records: [tokens] });
    const ofKey = await writer("POST /holds", { apiKeyId: id, records: [tokens] });
    const own = await test.send("/api/v1/holds", { apiKey: reader.fullKey, json: { records: [tokens] } });
    const others = [held.body.hold.id, ofKey.body.hold.id, (await own.json()).hold.id];
    for (const other of others) {
      for (
        const [path, json] of [["settle", { records: [] }], ["release", { reason: "x" }], ["extend", {
          expiresIn: 900,
        }]]
      ) {
        const { status, body } = await verifier(`POST /holds/${other}/${path}`, json);
        assert.deepEqual([status, body.error.code], [403, "scope_missing"], String(path));
      }
    }
    for (const [route, json] of [["POST /holds", { apiKeyId: id, records: [tokens] }], ["GET /holds"]]) {
      assert.equal((await verifier(String(route), json)).status, 403);
    }
    const reading = asOperator(test, (await newOperatorToken(test, ["usage:read"])).fullToken);
    assert.equal((await reading(`POST /holds/${hold.id}/release`)).status, 403);
    // Their own need neither a reason nor usage:write, and others with usage:write end them, too.
    assert.equal((await verifier(`POST /holds/${hold.id}/extend`, { expiresIn: 900 })).status, 200);
    assert.equal((await writer(`POST /holds/${hold.id}/settle`, { records: [] })).status, 201);
  },
);

onEveryDatabase("a token that was revoked or lost its scope settles nothing", async (test) => {
  const { ask } = await verifiedScene(test);
  const token = await newOperatorToken(test, ["keys:verify"]);
  const verifier = asOperator(test, token.fullToken);
  const { hold } = await ask({ usage: tokens, hold: true });
  const settle = () => verifier(`POST /holds/${hold.id}/settle`, { records: [tokens] });
  const set = (column: string, value: string | number | null) =>
    run(test, `UPDATE operator_tokens SET ${column} = ? WHERE id = ?`, value, token.id);
  await set("scopes", '["usage:read"]');
  assert.equal((await settle()).body.error.code, "scope_missing");
  await set("scopes", '["keys:verify"]');
  await set("revoked_at", test.now());
  assert.equal((await settle()).body.error.code, "invalid_operator_token");
  await set("revoked_at", null);
  assert.equal((await settle()).status, 201);
});

testMeanwhile(
  "a token that is revoked, or loses its scope, just before the transaction settles nothing",
  async (test, meanwhile) => {
    const { ask } = await verifiedScene(test);
    const token = await newOperatorToken(test, ["keys:verify"]);
    const verifier = asOperator(test, token.fullToken);
    const { hold } = await ask({ usage: tokens, hold: true });
    const settle = async () =>
      (await verifier(`POST /holds/${hold.id}/settle`, { records: [tokens] })).body.error?.code;
    const change = (statement: Statement) => () => test.opened.database.write([statement]);
    meanwhile(
      /INTO usage_hold_requests/,
      change(sql`UPDATE operator_tokens SET scopes = '["usage:read"]' WHERE id = ${token.id}`),
    );
    assert.equal(await settle(), "scope_missing");
    await test.opened.database.write([
      sql`UPDATE operator_tokens SET scopes = '["keys:verify"]' WHERE id = ${token.id}`,
    ]);
    meanwhile(
      /INTO usage_hold_requests/,
      change(sql`UPDATE operator_tokens SET revoked_at = ${test.now()} WHERE id = ${token.id}`),
    );
    assert.equal(await settle(), "invalid_operator_token");
    await test.opened.database.write([
      sql`UPDATE operator_tokens SET revoked_at = NULL WHERE id = ${token.id}`,
    ]);
    assert.equal(await settle(), undefined);
  },
);

onEveryDatabase("nothing is held for a key that isn't valid", async (test) => {
  const { person, id, ask, standings, addLimit } = await verifiedScene(test);
  await addLimit("tokens", 1_000);
  const code = async (more: object = {}) => {
    const { code, hold } = await ask({ usage: tokens, hold: true, ...more });
    assert.equal(hold === null, code !== "VALID");
    return code;
  };
  for (const _ of ["after a read", "in the transaction"]) {
    assert.equal(await code({ permissions: ["maps:edit"] }), "INSUFFICIENT_PERMISSIONS");
    assert.equal(await code({ features: ["sso"] }), "FEATURE_MISSING");
    assert.equal(await code({ key: "service_live_x" }), "NOT_FOUND");
    assert.equal(await code({ usage: { ...tokens, quantity: 1 } }), "VALID");
  }
  const set = (statement: string, ...values: (string | number | null)[]) => run(test, statement, ...values);
  await set("UPDATE organizations SET suspended_at = ? WHERE id = ?", test.now(), person.organizationId);
  assert.equal(await code(), "ORGANIZATION_SUSPENDED");
  await set("UPDATE organizations SET suspended_at = NULL WHERE id = ?", person.organizationId);
  await set("UPDATE api_keys SET addresses = ? WHERE id = ?", '["203.0.113.0/24"]', id);
  assert.equal(await code(), "ADDRESS_DENIED");
  assert.equal(await code({ address: "198.51.100.1" }), "ADDRESS_DENIED");
  assert.equal(await code({ address: "203.0.113.7" }), "VALID");
  await set("UPDATE api_keys SET disabled_at = ? WHERE id = ?", test.now(), id);
  assert.equal(await code({ address: "203.0.113.7" }), "DISABLED");
  await set("UPDATE api_keys SET revoked_at = ? WHERE id = ?", test.now(), id);
  assert.equal(await code({ address: "203.0.113.7" }), "REVOKED");
  assert.deepEqual(await standings(), { tokens: [0, 402] });
});

onEveryDatabase("beyond 10,000 active holds, a question that holds is rejected", async (test) => {
  const { ask, send, person } = await verifiedScene(test);
  await ask({ usage: tokens, hold: true });
  await run(
    test,
    "UPDATE usage_hold_counts SET active = 10000 WHERE organization = (SELECT number FROM organizations WHERE id = ?)",
    person.organizationId,
  );
  await assertError(await send({ usage: tokens, hold: true }), 429, "hold_limit_reached");
  assert.equal((await ask({ usage: tokens, record: true })).code, "VALID");
});

onEveryDatabase(
  "settlements of a token share commits with each other, however many there are",
  async (test) => {
    const { ask, verifier, standings, addLimit } = await verifiedScene(test);
    await addLimit("tokens", 1_000_000);
    const holds = await Promise.all(
      Array.from({ length: 200 }, async () => (await ask({ usage: tokens, hold: true })).hold.id),
    );
    const settled = await Promise.all(
      holds.map((id) => verifier(`POST /holds/${id}/settle`, { records: [{ ...tokens, quantity: 3 }] })),
    );
    assert.deepEqual([...new Set(settled.map(({ status }) => status))], [201]);
    assert.deepEqual(await standings(), { tokens: [600, 0] });
    const [row] = await test.opened.database.read<{ n: number }>(
      sql`SELECT count(*) AS n FROM usage_holds WHERE status = 'settled'`,
    );
    assert.equal(row?.n, 200);
  },
);
