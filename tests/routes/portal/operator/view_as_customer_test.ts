// Viewing an organization's pages as customer: read only, logged, and only for operators.
import assert from "node:assert/strict";
import { operatorViewMs } from "../../../../domain/limits.ts";
import { operatorAccessTo } from "../../../../services/access/access.ts";
import { listApiKeys } from "../../../../services/keys/api_keys.ts";
import { createApiKey } from "../../../../services/keys/new_api_keys.ts";
import { startViewing } from "../../../../services/console/viewing.ts";
import { createInvitation } from "../../../../services/people/invitations.ts";
import { getMember } from "../../../../services/people/members.ts";
import { changeStatus } from "../../../../services/people/suspension.ts";
import { createTestKey, testApp, type TestPerson } from "../../../support/app/app.ts";
import { listAudit } from "../../../support/app/audit.ts";
import { recordOne } from "../../../support/meter/usage.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { commandLineActor, newOperatorToken } from "../../../support/operators/operators.ts";
import { inviteTo, joinedPerson } from "../../../support/people/people.ts";
import { createTestWebhook } from "../../../support/webhooks/webhooks.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { run } from "../../../support/people/scene.ts";
import { addDeliveries } from "../../../support/webhooks/deliveries.ts";

testApp("an operator reads every page of a customer, and finds nothing that acts", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  await joinedPerson(test, ada, "MEMBER");
  const { id, fullKey } = await createTestKey(test, ada, { name: "Production" });
  const { id: recordId } = await recordOne(test, fullKey, { quantity: 7 });
  const webhookId = await createTestWebhook(test, ada);
  const [deliveryId = ""] = await addDeliveries(test.opened.database, webhookId, [
    { type: "webhook.test", status: "failed", createdAt: test.now() },
  ]);
  await inviteTo(test, ada, { email: "grace@example.com" });
  const { base, start } = pathsOf(ada);
  const open = (path: string, person: TestPerson = mara) => openPage(test, path, { person });
  assert.equal((await open(base)).location, start);
  assert.match((await open(start)).html, /View “<bdi>Ada’s organization<\/bdi>” as customer\?/);
  assert.equal((await openPage(test, start, { person: mara, form: {} })).location, base);

  const { app } = test;
  const routes = app.routes.filter(({ path }) => path.startsWith("/operator/organizations/:id/view/"));
  assert.deepEqual(routes.filter(({ method }) => method !== "GET"), []);
  const paths = [...new Set(["/operator/organizations/:id/view", ...routes.map(({ path }) => path)])]
    .map((path) =>
      path.replace(":id", ada.organizationId).replace(":keyId", id).replace(":recordId", recordId)
        .replace(":period", "open").replace(":webhookId", webhookId).replace(":deliveryId", deliveryId)
    );
  assert.ok(paths.length >= 9);
  await run(test, "UPDATE organizations SET suspended_at = ? WHERE id = ?", test.now(), ada.organizationId);
  for (const path of paths) {
    const { status, html } = await open(path);
    assert.equal(status, 200, path);
    assert.match(html, /You’re viewing <bdi>Ada’s organization<\/bdi> as an operator\. Read only\./, path);
    assert.ok(
      html.includes(`href="/operator/organizations/${ada.organizationId}">Back to the console`),
      path,
    );
    assert.match(html, /is suspended/, path);
    assert.doesNotMatch(html, /method="post"|href="\/(api\/)?portal|hx-post/, path);
    const links = [...html.matchAll(/(?:href|hx-get|action)="(\/operator[^"?#]*)/g)].map(([, href]) => href);
    for (const href of links) {
      assert.ok(
        href === `/operator/organizations/${ada.organizationId}` || href === base ||
          app.routes.some(({ path }) =>
            path.startsWith("/operator/organizations/:id/view") &&
            new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`).test(href ?? "")
          ),
        `${path} links to ${href}`,
      );
    }
    for (const person of [ada, await test.signUp("Eve")]) {
      assert.equal((await open(path, person)).status, 404, path);
    }
    for (const form of [{}, { name: "Taken", email: "x@example.com", role: "OWNER" }]) {
      assert.equal((await openPage(test, path, { person: mara, form })).status, 405, path);
    }
  }
  assert.match((await open(`${base}/members`)).html, /grace@example\.com/);
  assert.match((await open(`${base}/usage`)).html, /\/api\/operator\/usage\.csv\?[^"]*organizationId=org_/);
});

testApp("viewing is in both audit logs once for each start, and ends after an hour", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  const grace = await test.signUp("Grace");
  const { base, start } = pathsOf(ada);
  const open = (path: string) => openPage(test, path, { person: mara });
  const begin = () => openPage(test, start, { person: mara, form: {} });
  const entriesOf = async () => {
    const { fullToken: apiKey } = await newOperatorToken(test);
    const path = "/api/operator/audit?action=organization.viewed";
    const ofOperators = (await (await test.send(path, { apiKey })).json()).events;
    const { events: own } = await listAudit(test, ada.cookie, "?action=organization.viewed");
    return [own, ofOperators].map((events) =>
      events.map(({ actor, target }: typeof own[number]) => [actor.type, actor.name, target?.name])
    );
  };
  await begin();
  for (const page of ["", "/members", "/audit"]) assert.equal((await open(base + page)).status, 200);
  const name = "Ada’s organization";
  assert.deepEqual(await entriesOf(), [[["operator", null, name]], [["operator", "Mara", name]]]);
  const { html } = await open(`${base}/audit`);
  assert.match(html, /Viewed the organization/);
  assert.doesNotMatch(html.slice(html.indexOf("<h1>")), /Mara/);

  assert.equal((await open(pathsOf(grace).base)).location, pathsOf(grace).start);
  const tom = await newOperator(test, "Tom");
  assert.equal((await openPage(test, base, { person: tom })).location, start);
  test.advance(operatorViewMs + 1);
  assert.equal((await open(base)).location, start);
  assert.match((await begin()).location ?? "", /confirm-password/);
  assert.equal((await entriesOf())[1]?.length, 1);
});

testApp("an operator who is no longer one is rejected on the next request", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  const { base, start } = pathsOf(ada);
  await openPage(test, start, { person: mara, form: {} });
  assert.equal((await openPage(test, base, { person: mara })).status, 200);
  await run(test, "UPDATE users SET operator_since = NULL WHERE id = ?", mara.userId);
  assert.equal((await openPage(test, base, { person: mara })).status, 404);
  assert.equal((await openPage(test, start, { person: mara, form: {} })).status, 404);
});

testApp("a voided record looks as the customer sees it", async (test) => {
  const mara = await newOperator(test, "Mara");
  const ada = await test.signUp("Ada");
  const { fullKey } = await createTestKey(test, ada);
  const { id } = await recordOne(test, fullKey, { quantity: 7 });
  const { base, start } = pathsOf(ada);
  const path = `/usage/records/${id}`;
  const console_ = base.replace("/view", "") + path;
  await openPage(test, `${console_}/void`, { person: mara, form: { reason: "wrong" } });
  await openPage(test, start, { person: mara, form: {} });
  const seen = async (address: string, person: TestPerson) => {
    const { html } = await openPage(test, address, { person });
    return html.slice(html.indexOf("<h1>")).replaceAll(base, "/portal");
  };
  const own = await seen(`/portal${path}`, ada);
  assert.match(own, /by the operator/);
  assert.equal(await seen(base + path, mara), own);
  assert.doesNotMatch(await seen(console_, mara), /by the operator/);
});

testApp("verbs read for an operator who views, and write nothing", async ({ services, signUp }) => {
  const { organizationId: id, userId } = await signUp("Ada");
  const access = operatorAccessTo({ ...commandLineActor, isViewing: true }, {
    id,
    name: "Ada",
    timezone: "UTC",
  });
  assert.deepEqual((await listApiKeys(services, access, { limit: 1 })).apiKeys, []);
  assert.equal((await getMember(services, access, userId)).twoStep, false);
  const writes = [
    createApiKey(services, access, { name: "Key", expiresAt: null }),
    createInvitation(services, access, { email: "x@example.com", role: "MEMBER" }),
    changeStatus(services, access, "suspended"),
    startViewing(services, access),
  ];
  for (const write of writes) await assert.rejects(write, { code: "forbidden" });
});

function pathsOf({ organizationId }: TestPerson) {
  const path = `/operator/organizations/${organizationId}`;
  return { base: `${path}/view`, start: `${path}/view-as-customer` };
}
