// How many active keys, members and active holds an organization may have: as its plan says, unless it has numbers of its own.
import assert from "node:assert/strict";
import { createUser } from "../../../services/console/new_user.ts";
import { assertError, createTestKey, testPassword } from "../../support/app/app.ts";
import { assertOutcome } from "../../support/app/rows.ts";
import { operatorOf } from "../../support/operators/operator_api.ts";
import { commandLineActor } from "../../support/operators/operators.ts";
import { inviteTo, verifiedPerson } from "../../support/people/people.ts";
import { changePlan, overridePlan } from "../../support/operators/plans.ts";
import { holdScene } from "../../support/meter/holds.ts";
import { onBothDatabases, onEveryDatabase } from "../../support/meter/usage.ts";

const keys = "/api/portal/api-keys";

/** @returns The statuses of some requests that are sent at the same time, in order. */
async function statusesOf(requests: Promise<Response>[]): Promise<number[]> {
  return (await Promise.all(requests)).map(({ status }) => status).sort();
}

/** Asserts that a request is refused because of a number, which the message has. */
async function assertFull(response: Response, code: string, number: string): Promise<void> {
  const { error } = await assertError(response, 409, code);
  assert.ok(error.message.includes(number), error.message);
}

onEveryDatabase("an organization has as many active keys as its plan allows", async (test) => {
  const ada = await test.signUp();
  const make = () => test.send(keys, { cookie: ada.cookie, json: { name: "A" } });
  const rotate = (id: string, expireOldAt?: string) =>
    test.send(`${keys}/${id}/rotate`, { cookie: ada.cookie, json: { expireOldAt } });
  await changePlan(test, "api_keys_max", 3);
  assert.deepEqual(await statusesOf(Array.from({ length: 5 }, make)), [201, 201, 201, 409, 409]);
  await assertFull(await make(), "key_limit_reached", "3 active keys");

  await overridePlan(test, ada.organizationId, { api_keys_max: 4 });
  const ended = (await (await make()).json()).apiKey;
  await assertFull(await make(), "key_limit_reached", "4 active keys");
  await assertOutcome(test.send(`${keys}/${ended.id}`, { method: "DELETE", cookie: ada.cookie }), 200);
  const { apiKey } = await (await make()).json();

  await overridePlan(test, ada.organizationId, { api_keys_max: null });
  await changePlan(test, "api_keys_max", 1);
  const send = await operatorOf(test);
  const byOperator = await send(`POST /organizations/${ada.organizationId}/api-keys`, { name: "B" });
  assert.deepEqual([byOperator.status, byOperator.body.error.code], [409, "key_limit_reached"]);
  const later = new Date(test.now() + 3_600_000).toISOString();
  await assertFull(await rotate(apiKey.id, later), "key_limit_reached", "1 active key.");
  await assertFull(await rotate(apiKey.id), "key_limit_reached", "let the old key stop working immediately");
  const replaced = await rotate(apiKey.id, "now");
  assert.equal(replaced.status, 201, "a key that ends immediately makes room even beyond the number");
  await replaced.body?.cancel();
});

onEveryDatabase("an organization has as many members as its plan allows", async (test) => {
  const owner = await verifiedPerson(test);
  const people = [await verifiedPerson(test), await verifiedPerson(test), await verifiedPerson(test)];
  const tokens: string[] = [];
  for (const person of people) tokens.push((await inviteTo(test, owner, person)).token);
  const { token: invitationToken } = await inviteTo(test, owner, { email: "grace@example.com" });
  const accepting = people.map(({ cookie }, at) => () =>
    test.send("/api/portal/invitations/accept", { cookie, json: { token: tokens[at] } })
  );
  const json = { name: "Grace", password: testPassword, invitationToken };
  const signUp = () => test.send("/api/auth/sign-up", { json });
  await changePlan(test, "members_max", 3);
  assert.deepEqual(await statusesOf(accepting.map((accept) => accept())), [200, 200, 409]);
  await assertFull(await signUp(), "limit_reached", "3 members");

  await overridePlan(test, owner.organizationId, { members_max: 4 });
  await assertOutcome(signUp(), 201);
  const join = { organizationId: owner.organizationId, role: "MEMBER" } as const;
  const kay = { email: "kay@example.com", name: "Kay", password: testPassword, join };
  const create = () => createUser(test.services, commandLineActor, kay);
  await assert.rejects(create(), /limit of 4 members/);

  await overridePlan(test, owner.organizationId, { members_max: null });
  await changePlan(test, "members_max", 5);
  assert.equal((await create()).organizationId, owner.organizationId);
});

onBothDatabases("an organization has as many active holds as its plan allows", async (test) => {
  const { person: { organizationId }, hold, post, operator, settle, statusOf } = await holdScene(test, {
    per: "total",
    quantity: 100,
  });
  const [neighbor, other] = [await test.signUp(), await test.signUp()];
  const { fullKey: otherKey } = await createTestKey(test, other);
  await changePlan(test, "holds_max", 2);
  const codesOf = async (holds: ReturnType<typeof hold>[]) =>
    (await Promise.all(holds)).map(({ status, body }) => body.error?.code ?? status).sort();
  const full = "hold_limit_reached";
  const many = Array.from({ length: 5 }, () => hold(1));
  assert.deepEqual(await codesOf(many), [201, 201, full, full, full]);
  const [{ body: { hold: { id } } }] = (await Promise.all(many)).filter(({ status }) => status === 201) as [
    Awaited<ReturnType<typeof hold>>,
  ];
  const rejected = await hold(1);
  assert.deepEqual([rejected.status, rejected.headers.get("retry-after")], [429, "5"]);
  // Others have places of their own.
  assert.deepEqual(await codesOf([hold(1, {}, otherKey), hold(1), hold(1, {}, otherKey)]), [201, 201, full]);

  // A hold that finds no room in a limit leaves its place to the next one.
  await settle(id, 1);
  assert.deepEqual(await codesOf([hold(1_000), hold(1), hold(1)]), [201, full, "limit_exceeded"]);

  // A repeat needs no place, and expired holds take none.
  await overridePlan(test, organizationId, { holds_max: 3 });
  const input = { expiresIn: 1, idempotencyKey: "a" };
  const last = await hold(1, input);
  assert.deepEqual([last.status, (await hold(1, input)).status], [201, 200]);
  assert.deepEqual(await codesOf([hold(1)]), [full]);
  test.advance(1_000);
  assert.deepEqual(await codesOf([hold(1), hold(1)]), [201, full]);
  assert.equal(await statusOf(last.body.hold.id), "expired");

  // A lowered number ends none.
  const overrides = { holdsMax: 1 };
  const changed = await operator(`PATCH /organizations/${organizationId}`, { overrides });
  assert.equal(changed.body.organization.overrides.holdsMax, 1);
  const { body: { holds } } = await operator(`GET /holds?status=active&organizationId=${organizationId}`);
  assert.equal(holds.length, 3);
  for (const { id } of holds.slice(1)) await post(`/${id}/release`);
  assert.deepEqual(await codesOf([hold(1)]), [full]);
  await post(`/${holds[0].id}/release`);
  assert.deepEqual(await codesOf([hold(1)]), [201]);
  await overridePlan(test, neighbor.organizationId, { holds_max: 0 });
  const records = [{ productSlug: "tiles", metric: "requests", quantity: 1 }];
  const ofOperator = await operator("POST /holds", { organizationId: neighbor.organizationId, records });
  assert.deepEqual([ofOperator.status, ofOperator.body.error.code], [429, full]);
});
