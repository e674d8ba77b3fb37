// The console's pages of users.
import assert from "node:assert/strict";
import {
  assertError,
  createTestKey,
  type TestApp,
  testApp,
  type TestPerson,
} from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";

const list = "/operator/users";

async function page(test: TestApp, person: TestPerson, path: string, form?: Record<string, string>) {
  return await openPage(test, path, form === undefined ? { person } : { person, form });
}

testApp("operators find users by name, address and status", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  await test.signUp("Grace Hopper");
  const names = (html: string) =>
    [...html.matchAll(/<a class="name"[^>]*>\s*<bdi>([^<]*)<\/bdi>/g)].map(([, name]) => name);
  assert.deepEqual(names((await page(test, mara, list)).html), [
    "Grace Hopper",
    "Ada Lovelace",
    "Mara Rossi",
  ]);
  assert.deepEqual(names((await page(test, mara, `${list}?search=lovel`)).html), ["Ada Lovelace"]);
  assert.deepEqual(names((await page(test, mara, `${list}?search=${ada.email}`)).html), ["Ada Lovelace"]);
  const none = await page(test, mara, `${list}?status=disabled`);
  assert.match(none.html, /No matching users/);
  assert.equal((await page(test, mara, `${list}?status=nonsense`)).status, 200);
});

testApp("a user's page shows organizations and sessions, and unknown ids are not found", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  const { html } = await page(test, mara, `${list}/${ada.userId}`);
  assert.match(html, /Ada Lovelace’s organization/);
  assert.match(html, new RegExp(`/operator/organizations/${ada.organizationId}`));
  assert.match(html, /Unknown device/);
  assert.equal((await page(test, mara, `${list}/usr_nope`)).status, 404);
});

testApp("operators disable and enable a user, on a page that says what will happen", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  const key = await createTestKey(test, ada);
  const record = () =>
    test.send("/api/v1/usage", {
      apiKey: key.fullKey,
      json: { productSlug: "tiles", metric: "requests", quantity: 1 },
    });
  const disable = `${list}/${ada.userId}/disable`;
  assert.match((await page(test, mara, disable)).html, /Disable <bdi>Ada Lovelace<\/bdi>\?/);
  assert.equal((await page(test, mara, disable, { keys: "nonsense" })).status, 422);
  const done = await page(test, mara, disable, { keys: "keep" });
  assert.equal(done.location, `${list}/${ada.userId}?done=disabled`);
  assert.match((await page(test, mara, done.location)).html, /User disabled\./);
  await assertError(await test.send("/api/portal/api-keys", { cookie: ada.cookie }), 401, "unauthenticated");
  assert.equal((await record()).status, 201);
  assert.equal(
    (await page(test, mara, `${list}/${ada.userId}/enable`, {})).location,
    `${list}/${ada.userId}?done=enabled`,
  );
  await page(test, mara, disable, { keys: "revoke" });
  assert.equal((await record()).status, 401);
});

testApp("operators sign a user out everywhere", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  await page(test, mara, `${list}/${ada.userId}/sign-out`, {});
  await assertError(await test.send("/api/portal/api-keys", { cookie: ada.cookie }), 401, "unauthenticated");
  assert.match((await page(test, mara, `${list}/${ada.userId}`)).html, /Not signed in/);
});

testApp("a password reset sends an email", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  const reset = `${list}/${ada.userId}/reset-password`;
  assert.match((await page(test, mara, reset)).html, new RegExp(ada.email));
  const done = await page(test, mara, reset, {});
  assert.equal(done.location, `${list}/${ada.userId}?done=reset`);
  assert.match((await test.mails()).at(-1)?.text ?? "", /reset-password\?token=/);
});
