// Usage records for operators: lists across organizations, and voids with their audit entries.
import assert from "node:assert/strict";
import { sql } from "../../../../db/engine/database.ts";
import { createTestKey, type TestApp } from "../../../support/app/app.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { grantVoids, newOperatorToken } from "../../../support/operators/operators.ts";
import { checkRollups, rowsOf } from "../../../support/meter/rollups.ts";
import {
  listAll,
  type ListedRecord,
  onEveryDatabase,
  readSums,
  recordOne,
} from "../../../support/meter/usage.ts";
import { run } from "../../../support/people/scene.ts";
import { assertRows, type Row } from "../../../support/app/rows.ts";

/** An organization with a key. */
async function newCustomer(test: TestApp) {
  const person = await test.signUp();
  const { id: apiKeyId, fullKey: apiKey } = await createTestKey(test, person);
  return { ...person, apiKeyId, apiKey };
}

async function operator(test: TestApp) {
  const { id, fullToken } = await newOperatorToken(test, ["usage:read", "usage:void", "usage:write"]);
  const send = asOperator(test, fullToken);
  return {
    tokenId: id,
    send,
    /** Reads all pages of the list. */
    async list(query = ""): Promise<(ListedRecord & { organizationId: string })[]> {
      const all = [];
      for (let cursor = "";;) {
        const { status, body } = await send(`GET /usage/records?limit=2&${query}${cursor}`);
        assert.equal(status, 200, JSON.stringify(body));
        all.push(...body.usageRecords);
        if (body.nextCursor === null) return all;
        cursor = `&cursor=${body.nextCursor}`;
      }
    },
  };
}

/** @returns The audit entries of voids. */
function auditOf(test: TestApp) {
  return test.opened.database.read(sql`
    SELECT organization_id AS organizationId, actor_type AS type, actor_id AS actor, target_id AS target, details
    FROM audit_events WHERE action = 'usage.voided' ORDER BY id`);
}

onEveryDatabase("lists the records of all, some or one organization, page by page", async (test) => {
  const [a, b, c] = [await newCustomer(test), await newCustomer(test), await newCustomer(test)];
  const { send, list } = await operator(test);
  const minutesAgo = (minutes: number) => new Date(test.now() - minutes * 60_000).toISOString();
  for (const [n, { apiKey }] of [a, b, c, a, b, a, b].entries()) {
    test.advance(1);
    await recordOne(test, apiKey, {
      quantity: n,
      timestamp: minutesAgo((n * 3) % 7),
      metric: n % 2 ? "odd" : "even",
    });
  }
  await send("POST /usage", {
    records: [{
      organizationId: a.organizationId,
      productSlug: "other",
      metric: "odd",
      quantity: 9,
      idempotencyKey: "k",
    }],
  });
  const quantities = async (query?: string) => (await list(query)).map(({ quantity }) => quantity);
  assert.deepEqual(await quantities(), [9, 6, 5, 4, 3, 2, 1, 0]);
  assert.deepEqual(await quantities("metric=odd"), [9, 5, 3, 1]);
  assert.deepEqual(await quantities("productSlug=other"), [9]);
  const [from, to] = [minutesAgo(4), minutesAgo(1)];
  const all = await list();
  const between = all.filter(({ timestamp }) => timestamp >= from && timestamp < to);
  assert.deepEqual(await list(`from=${from}&to=${to}`), between);

  const byTime = (ids: readonly string[]) =>
    all.filter(({ organizationId }) => ids.includes(organizationId))
      .sort((x, y) => x.timestamp > y.timestamp ? -1 : 1);
  const two = [a.organizationId, c.organizationId];
  assert.deepEqual(await list(`organizationId=${two.join(",")}`), byTime(two));
  assert.deepEqual(await list(`organizationId=${b.organizationId}`), byTime([b.organizationId]));
  assert.deepEqual(
    await list(`organizationId=${b.organizationId}&metric=odd`),
    byTime([b.organizationId])
      .filter(({ metric }) => metric === "odd"),
  );
  assert.deepEqual(
    await list(`apiKey=${a.apiKeyId}`),
    byTime([a.organizationId])
      .filter(({ apiKeyId }) => apiKeyId === a.apiKeyId),
  );
  assert.deepEqual(await list(`organizationId=${b.organizationId}&apiKey=${a.apiKeyId}`), []);
  assert.deepEqual(await quantities(`idempotencyKey=k&organizationId=${a.organizationId}`), [9]);
  for (
    const query of ["idempotencyKey=k", `idempotencyKey=k&organizationId=${two.join(",")}`, "cursor=use_x"]
  ) {
    assert.equal((await send(`GET /usage/records?${query}`)).status, 422, query);
  }
  // Deleted organizations appear nowhere.
  const id = all.find(({ organizationId }) => organizationId === c.organizationId)?.id;
  assert.equal((await send(`GET /usage/records/${id}`)).body.usageRecord.organizationId, c.organizationId);
  await run(test, "UPDATE organizations SET deleted_at = 1 WHERE id = ?", c.organizationId);
  assert.deepEqual(await quantities(), [9, 6, 5, 4, 3, 1, 0]);
  assert.deepEqual(await list(`organizationId=${c.organizationId}`), []);
  assert.equal((await send(`GET /usage/records/${id}`)).status, 404);
  assert.equal((await send(`POST /usage/records/${id}/void`, { reason: "x" })).status, 404);
});

onEveryDatabase("a void by an operator is audited once, and customers don't see by whom", async (test) => {
  const { organizationId, apiKey, apiKeyId } = await newCustomer(test);
  const { tokenId, send } = await operator(test);
  const { id } = await recordOne(test, apiKey, { quantity: 2.5 });
  await recordOne(test, apiKey, { quantity: 1 });
  // A suspended organization's bill can still be corrected.
  await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id = ?", organizationId);
  const reason = "cross_site";
  const voids = await Promise.all([1, 2, 3].map(() => send(`POST /usage/records/${id}/void`, { reason })));
  const record = (await send(`GET /usage/records/${id}`)).body.usageRecord;
  for (const { status, body } of voids) assert.deepEqual([status, body.usageRecord], [200, record]);
  assert.deepEqual([record.organizationId, record.apiKeyId], [organizationId, apiKeyId]);
  assert.deepEqual([record.voidedBy, record.voidReason], [tokenId, reason]);
  const [entry, ...more] = await auditOf(test);
  assert.deepEqual(more, []);
  assert.deepEqual({ ...entry, details: JSON.parse(String(entry?.["details"])) }, {
    organizationId,
    type: "operator",
    actor: tokenId,
    target: id,
    details: { quantity: "2.5", metric: "requests", product: "tiles", timestamp: record.timestamp, reason },
  });
  await run(test, "UPDATE organizations SET suspended_at = NULL WHERE id = ?", organizationId);
  const listed = (await listAll(test, apiKey)).find((listed) => listed.id === id);
  assert.equal(listed?.voidedBy, "operator");
  assert.deepEqual((await readSums(test, apiKey, "?window=month")).map(({ sum }) => sum), [1]);
  await checkRollups(rowsOf(test.opened.database));
});

onEveryDatabase("only keys with usage:void can void, and only while they may", async (test) => {
  const person = await newCustomer(test);
  const { apiKey, apiKeyId, organizationId } = person;
  const { id } = await recordOne(test, apiKey);
  const voiding = (record: string, outcome: string, shows: string[] = []): Row => [
    `POST /api/v1/usage/records/${record}/void`,
    { reason: "Twice." },
    outcome,
    { shows },
  ];
  await assertRows(test, { apiKey }, [
    voiding(id, "403 permission_missing", ["usage:void"]),
    voiding("use_unknown", "403 permission_missing", ["usage:void"]),
  ]);
  await test.opened.database.write([grantVoids]);
  await run(test, "UPDATE organizations SET suspended_at = 1 WHERE id = ?", organizationId);
  await assertRows(test, { apiKey }, [voiding(id, "403 organization_suspended")]);
  await run(test, "UPDATE organizations SET suspended_at = NULL WHERE id = ?", organizationId);
  assert.deepEqual(await auditOf(test), []);
  await Promise.all([1, 2, 3].map(() => assertRows(test, { apiKey }, [voiding(id, "200")])));
  const entries = (await auditOf(test)).map(({ details: _, ...entry }) => entry);
  assert.deepEqual(entries, [{ organizationId, type: "apiKey", actor: apiKeyId, target: id }]);
  const page = await (await test.send("/portal/audit", { cookie: person.cookie })).text();
  assert.match(page.replaceAll(/<[^>]*>/g, ""), /Production.*Voided 1 requests of tiles: Twice\./s);
});
