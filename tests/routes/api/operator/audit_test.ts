// The operators' log and the logs of organizations over the operators' API. Customers see that an operator did something, but
// not which one.
import assert from "node:assert/strict";
import { externalIdCharactersMax } from "../../../../domain/limits.ts";
import type { AuditEvent } from "../../../../domain/access/audit.ts";
import { type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { makeOperator, newOperatorToken } from "../../../support/operators/operators.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { newPerson, run } from "../../../support/people/scene.ts";

const headers = { "user-agent": "Operator browser" };
const peerAddress = "203.0.113.99";

/** An operator with an account and one with a token each disable or enable someone. */
async function actedOn(test: TestApp, person: TestPerson) {
  const mara = await newPerson(test, null);
  await run(test, "UPDATE users SET name = 'Mara Rossi' WHERE id = ?", mara.userId);
  await makeOperator(test, mara);
  const token = await newOperatorToken(test, ["users:write"]);
  const path = `/api/operator/users/${person.userId}`;
  const options = { method: "PATCH", headers, peerAddress };
  for (const sender of [{ cookie: mara.cookie }, { apiKey: token.fullToken }]) {
    const disabled = !("apiKey" in sender);
    const response = await test.send(path, { ...options, ...sender, json: { disabled } });
    assert.equal(response.status, 200, await response.text());
    test.advance(1000);
  }
  return { mara, token };
}

onEveryDatabase("operators read and filter their own log, or all of an organization's", async (test) => {
  const [ada, bob] = [await test.signUp("Ada"), await test.signUp("Bob")];
  const externalId = "c".repeat(externalIdCharactersMax);
  await run(test, "UPDATE organizations SET external_id = ? WHERE id = ?", externalId, ada.organizationId);
  const { mara, token } = await actedOn(test, ada);
  await actedOn(test, bob);
  const send = await operatorOf(test, ["audit:read"]);
  const list = async (query: string): Promise<AuditEvent[]> => {
    const { status, body } = await send(`GET /audit${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.events;
  };
  const actions = (events: readonly AuditEvent[]) => events.map(({ action }) => action).join(" ");

  const own = await list("");
  assert.equal(actions(own), "account.enabled account.disabled account.enabled account.disabled");
  const { id: _id, at: _at, requestId: _requestId, ...first } = own[3] as AuditEvent;
  assert.deepEqual(first, {
    action: "account.disabled",
    organizationId: ada.organizationId,
    actor: { type: "operator", id: mara.userId, name: "Mara Rossi" },
    target: { id: ada.userId, name: ada.email },
    details: {},
    address: peerAddress,
    userAgent: "Operator browser",
  });
  assert.deepEqual(own[2]?.actor, { type: "operator", id: token.id, name: "Invoices" });
  const whole = await list(`?organizationId=${ada.organizationId}`);
  assert.equal(actions(whole).slice(0, 32), "account.enabled account.disabled");
  assert.ok(actions(whole).includes("account.created"));
  assert.deepEqual(whole[1]?.actor, own[3]?.actor);
  assert.deepEqual(await list(`?organizationId=external:${externalId}`), whole);

  assert.deepEqual(await list("?action=account.disabled"), [own[1], own[3]]);
  assert.deepEqual(await list(`?actorId=${token.id}`), [own[2]]);
  assert.deepEqual(await list(`?actorId=${token.id}&action=account.disabled`), []);
  assert.deepEqual(await list(`?organizationId=${bob.organizationId}&actorId=${mara.userId}`), []);
  assert.deepEqual(await list(`?from=${own[1]?.at}&to=${own[0]?.at}`), [own[1]]);
  const page = (await send("GET /audit?limit=3")).body;
  assert.deepEqual(page.events, own.slice(0, 3));
  assert.deepEqual(await list(`?cursor=${page.nextCursor}`), [own[3]]);

  const csv = (await send("GET /audit.csv?action=account.disabled")).body as string;
  const [header, second, line, end] = csv.split("\r\n");
  assert.equal(
    header,
    "at,action,actor,actorId,target,targetId,details,address,userAgent,requestId,organizationId",
  );
  assert.ok(second?.endsWith(bob.organizationId));
  assert.ok(line?.includes(`,Mara Rossi,${mara.userId},${ada.email},`));
  assert.equal(end, "");
  const ofAda = (await send(`GET /audit.csv?organizationId=${ada.organizationId}`)).body as string;
  assert.equal(ofAda.split("\r\n").length, whole.length + 2);

  assert.equal((await send("GET /audit?organizationId=org_none")).body.error.code, "not_found");
  assert.equal((await send("GET /audit?cursor=x")).body.error.code, "validation_failed");
  assert.equal((await send("GET /audit?from=2026-11-22&to=2026-11-21")).body.error.code, "validation_failed");
});

testApp("customers see only that an operator did something", async (test) => {
  const ada = await test.signUp("Ada");
  const { mara, token } = await actedOn(test, await memberOf(test, ada));
  const { events } = await listAudit(test, ada.cookie);
  const byOperators = events.filter(({ actor }) => actor.type === "operator");
  assert.equal(byOperators.length, 2);
  for (const { actor, address, userAgent } of byOperators) {
    assert.deepEqual({ actor, address, userAgent }, {
      actor: { type: "operator", id: null, name: null },
      address: "",
      userAgent: "",
    });
  }
  const csv = await test.send("/api/portal/audit.csv", { cookie: ada.cookie });
  const page = await test.send("/portal/audit", { cookie: ada.cookie });
  const texts = [JSON.stringify(events), await csv.text(), await page.text()];
  assert.match(texts[1] ?? "", /,account\.disabled,operator,,/);
  assert.match(texts[2] ?? "", />Operator</);
  for (const text of texts) {
    for (const secret of [mara.userId, "Mara Rossi", token.id, "Invoices", peerAddress, "Operator browser"]) {
      assert.ok(!text.includes(secret), secret);
    }
  }
  for (const { id } of [{ id: mara.userId }, token]) {
    assert.deepEqual((await listAudit(test, ada.cookie, `?actorId=${id}`)).events, []);
  }
});

/** @returns A member whose sign-ins are in the organization's log. */
function memberOf(test: TestApp, { organizationId }: TestPerson): Promise<TestPerson> {
  return newPerson(test, { organizationId, role: "MEMBER" });
}
