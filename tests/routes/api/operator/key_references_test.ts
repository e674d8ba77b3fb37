// External ids and metadata of API keys: operators set and see them, verification reports them, and members know nothing of them.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { assertRows, fetchJson, type Row } from "../../../support/app/rows.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { assertSent, operatorOf } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

const path = "/api/portal/api-keys";

async function verifier(test: TestApp) {
  const { fullToken: apiKey } = await newOperatorToken(test, ["keys:verify"]);
  return async (key: string) => {
    const { apiKey: found } = await fetchJson(test, { apiKey }, "POST /api/v1/keys/verify", { key });
    return { externalId: found.externalId, metadata: found.metadata };
  };
}

onEveryDatabase(
  "verification reports what operators set, also after a rotation by the customer",
  async (test) => {
    const send = await operatorOf(test);
    const verify = await verifier(test);
    const ada = await test.signUp("Ada");
    const fields = { externalId: "user-1", metadata: { tier: "gold", note: "a\nb" } };
    const { body } = await send(`POST /organizations/${ada.organizationId}/api-keys`, {
      name: "Key",
      ...fields,
    });
    assert.deepEqual(await verify(body.fullKey), fields);
    const { apiKey: { id }, fullKey } = await fetchJson(
      test,
      ada,
      `POST ${path}/${body.apiKey.id}/rotate`,
      {},
    );
    assert.deepEqual(await verify(fullKey), fields);
    const change = { externalId: null, metadata: { tier: null, team: "7" } };
    const { body: changed } = await send(`PATCH /api-keys/${id}`, change);
    assert.deepEqual(changed.apiKey.metadata, { note: "a\nb", team: "7" });
    assert.deepEqual(await verify(fullKey), { externalId: null, metadata: { note: "a\nb", team: "7" } });
  },
);

onEveryDatabase("operators find keys of all organizations by an external id, in pages", async (test) => {
  const send = await operatorOf(test, ["keys:read", "keys:write"]);
  const people = [await test.signUp(), await test.signUp(), await test.signUp()];
  const ids: string[] = [];
  for (const [index, { organizationId }] of people.entries()) {
    const externalId = index === 1 ? "other" : "user 4711?&";
    const { body } = await send(`POST /organizations/${organizationId}/api-keys`, {
      name: "Key",
      externalId,
    });
    if (index !== 1) ids.unshift(body.apiKey.id);
  }
  const query = `?externalId=${encodeURIComponent("user 4711?&")}&limit=1`;
  const { body: first } = await send(`GET /api-keys${query}`);
  const { body: second } = await send(`GET /api-keys${query}&cursor=${first.nextCursor}`);
  assert.deepEqual([...first.apiKeys, ...second.apiKeys].map(({ id }) => id), ids);
  assert.deepEqual([first.apiKeys[0].organizationId, second.nextCursor], [people[2]?.organizationId, null]);
  await assertSent(send, [
    ["GET /api-keys?externalId=nothing", undefined, "200"],
    ["GET /api-keys", undefined, "422 validation_failed externalId"],
  ]);
});

testApp(
  "members neither see nor set external ids and metadata, nor read them in their audit log",
  async (test) => {
    const send = await operatorOf(test);
    const ada = await test.signUp("Ada");
    const { id } = await createTestKey(test, ada);
    const secret = { externalId: "secret-id", metadata: { name: "secret-value" } };
    await send(`PATCH /api-keys/${id}`, secret);
    const hides = ["secret-id", "secret-value", "externalId", 'metadata"'];
    await assertRows(test, ada, [
      [`GET ${path}`, null, 200, { hides }],
      [`PATCH ${path}/${id}`, { name: "Renamed" }, 200, { hides }],
      ["GET /api/portal/audit", null, 200, { hides: hides.slice(0, 2), shows: ["api_key.metadata_changed"] }],
      [`GET /portal/api-keys/${id}`, null, 200, { hides: hides.slice(0, 2) }],
      ["GET /api/portal/events", null, 200, { hides: hides.slice(0, 2) }],
      ...[{ externalId: "mine" }, { metadata: { a: "b" } }].flatMap((field): Row[] => [
        [`PATCH ${path}/${id}`, field, `422 validation_failed ${Object.keys(field)[0]}`],
        [`POST ${path}`, { name: "Key", ...field }, `422 validation_failed ${Object.keys(field)[0]}`],
      ]),
    ]);
  },
);

testApp("rejects invalid external ids and too much metadata", async (test) => {
  const send = await operatorOf(test);
  const ada = await test.signUp();
  const { id } = await createTestKey(test, ada);
  const route = `PATCH /api-keys/${id}`;
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, "x"]));
  await assertSent(send, [
    ...["", " a", "a ", "é", "x".repeat(256)].map((externalId) =>
      [route, { externalId }, "422 validation_failed externalId"] as const
    ),
    [route, { externalId: "x".repeat(255), metadata: many(50) }, "200"],
    [route, { metadata: { other: "x" } }, "422 validation_failed metadata"],
    [route, { metadata: { other: "x", k0: null } }, "200"],
    [route, { metadata: { long: "x".repeat(501) } }, "422 validation_failed metadata.long"],
  ]);
});
