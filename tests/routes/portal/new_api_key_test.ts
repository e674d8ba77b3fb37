// Creating and rotating keys by forms: each form creates one key, however often it is sent, and the new key waits for a request.
import assert from "node:assert/strict";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { openPage } from "../../support/portal/pages.ts";
import { onEveryDatabase } from "../../support/meter/usage.ts";

const path = "/portal/api-keys";
const usage = { productSlug: "tiles", metric: "requests", quantity: 1 };

const fullKeyIn = (html: string) => /service_live_[0-9A-Za-z]{38}/.exec(html)?.[0];

async function tokenOn(test: TestApp, address: string, person: TestPerson): Promise<string> {
  const { html } = await openPage(test, address, { person });
  const token = /name="formToken" value="([^"]+)"/.exec(html)?.[1];
  assert(token !== undefined, address);
  return token;
}

async function keysOf(test: TestApp, { cookie }: TestPerson) {
  const { apiKeys } = await (await test.send("/api/portal/api-keys", { cookie })).json();
  return apiKeys as { id: string; status: string; expiresAt: string | null }[];
}

onEveryDatabase("a form that is sent again, or twice at the same time, creates one key", async (test) => {
  const ada = await test.signUp();
  const form = { name: "Checkout", formToken: await tokenOn(test, `${path}/new`, ada) };
  const send = () => openPage(test, `${path}/new`, { form, person: ada });
  const both = await Promise.all([send(), send()]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
  const again = await send();
  assert.equal(again.status, 409);
  assert.equal(fullKeyIn(again.html), undefined);
  const keys = await keysOf(test, ada);
  assert.equal(keys.length, 1);
  assert.match(again.html, new RegExp(`href="${path}/${keys[0]?.id}"`));
  const other = { ...form, formToken: await tokenOn(test, `${path}/new`, ada) };
  assert.equal((await openPage(test, `${path}/new`, { form: other, person: ada })).status, 201);
});

onEveryDatabase("the token of a form means nothing in another organization", async (test) => {
  const [ada, eve] = [await test.signUp(), await test.signUp()];
  const form = { name: "Checkout", formToken: await tokenOn(test, `${path}/new`, ada) };
  for (const person of [ada, eve]) {
    assert.equal((await openPage(test, `${path}/new`, { form, person })).status, 201);
  }
});

for (const expireOld of ["24h", "now"]) {
  onEveryDatabase(`rotating (${expireOld}) by a form that is sent again creates one key`, async (test) => {
    const ada = await test.signUp();
    const { id } = await createTestKey(test, ada);
    const rotate = `${path}/${id}/rotate`;
    const form = { expireOld, formToken: await tokenOn(test, rotate, ada) };
    const first = await openPage(test, rotate, { form, person: ada });
    assert.equal(first.status, 201);
    assert(fullKeyIn(first.html) !== undefined);
    assert.equal((await openPage(test, rotate, { form, person: ada })).status, 409);
    const keys = await keysOf(test, ada);
    assert.deepEqual(keys.map(({ status }) => status), [
      "active",
      expireOld === "now" ? "revoked" : "active",
    ]);
  });
}

testApp("rotating leaves the old key a day, unless it expires earlier or at a chosen time", async (test) => {
  const ada = await test.signUp();
  const { id } = await createTestKey(test, ada);
  const rotate = `${path}/${id}/rotate`;
  const { html } = await openPage(test, rotate, { person: ada });
  assert.match(html, /value="24h" checked/);
  assert.match(html, /class="radio danger"><input type="radio" id="expireOld-now"/);
  await openPage(test, rotate, { form: {}, person: ada });
  const [, old] = await keysOf(test, ada);
  assert.equal(Date.parse(old?.expiresAt ?? "") - test.services.clock(), 24 * 3_600_000);
  const expiresAt = new Date(test.now() + 3 * 3_600_000).toISOString();
  const early = await createTestKey(test, ada, { expiresAt });
  const rotated = await openPage(test, `${path}/${early.id}/rotate`, { form: {}, person: ada });
  assert.ok(rotated.html.includes(`The old key stops working <time datetime="${expiresAt}"`));
});

testApp("a key expires on a chosen date", async (test) => {
  const ada = await test.signUp();
  const send = (expiresOn: string) =>
    openPage(test, `${path}/new`, { form: { name: "Key", expires: "date", expiresOn }, person: ada });
  for (const wrong of ["", "2026-13-01", "2020-01-01", "soon"]) {
    const { status, html } = await send(wrong);
    assert.equal(status, 422, wrong);
    assert.match(html, /id="expiresOn-error"/);
    assert.match(html, /<option value="date" selected/);
  }
  assert.equal((await send("2027-02-28")).status, 201);
  assert.equal((await keysOf(test, ada))[0]?.expiresAt, "2027-02-28T00:00:00.000Z");
});

testApp("a new key's page waits for its first request, and says when it has arrived", async (test) => {
  const ada = await test.signUp();
  const form = { name: "Checkout", formToken: await tokenOn(test, `${path}/new`, ada) };
  const created = await openPage(test, `${path}/new`, { form, person: ada });
  const apiKey = fullKeyIn(created.html) ?? "";
  const address = new RegExp(`hx-get="(${path}/key_[0-9a-f]+/first-request)"`).exec(created.html)?.[1] ?? "";
  assert.equal(created.answer.headers.get("hx-push-url"), address.replace("/first-request", ""));
  const card = () => openPage(test, address, { person: ada });
  assert.match((await card()).html, /Waiting for the first request/);
  assert.match((await card()).html, /hx-trigger="every/);
  assert.equal((await test.send("/api/v1/usage", { apiKey, json: usage })).status, 201);
  const received = await card();
  assert.match(received.html, /First request received/);
  assert.match(received.html, /<bdi>tiles<\/bdi> · <bdi>Requests<\/bdi>: 1</);
  assert.match(received.html, /hx-trigger="every/);
  await test.services.lastRequests.flush();
  const complete = await card();
  assert.match(complete.html, /UTC · 201 Created · from/);
  assert.doesNotMatch(complete.html, /hx-trigger="every/);
});

testApp("a rejected first request is shown with its status and reason", async (test) => {
  const ada = await test.signUp();
  const { id, fullKey: apiKey } = await createTestKey(test, ada);
  const send = (json: unknown) =>
    test.send("/api/v1/usage", {
      apiKey,
      json,
      peerAddress: "203.0.113.9",
      headers: { "user-agent": "x/1" },
    });
  assert.equal((await send({ ...usage, quantity: -1 })).status, 422);
  await test.services.lastRequests.flush();
  const card = () => openPage(test, `${path}/${id}/first-request`, { person: ada });
  const rejected = await card();
  assert.match(rejected.html, /Waiting for the first accepted request/);
  assert.match(rejected.html, />422<\/span> Rejected at \d\d:\d\d:\d\d UTC: “quantity”:/);
  assert.match(rejected.html, /hx-trigger="every/);
  assert.equal((await send(usage)).status, 201);
  // The same key is written again after a while only.
  assert.match((await card()).html, /First request received/);
  assert.doesNotMatch((await card()).html, /203\.0\.113/);
  test.advance(10_000);
  await test.services.lastRequests.flush();
  assert.match((await card()).html, /201 Created · from <code>203\.0\.113\.0\/24<\/code>/);
});

testApp("the first request of a key may read, and pages stop waiting for it after a while", async (test) => {
  const ada = await test.signUp();
  const [reading, wrong] = [await createTestKey(test, ada), await createTestKey(test, ada)];
  const unused = await createTestKey(test, ada);
  assert.equal((await test.send("/api/v1/usage", { apiKey: reading.fullKey })).status, 200);
  assert.equal((await test.send("/api/v1/usage", { apiKey: wrong.fullKey, json: {} })).status, 422);
  await test.services.lastRequests.flush();
  const open = async (address: string) => (await openPage(test, `${path}/${address}`, { person: ada })).html;
  assert.match(await open(`${reading.id}/first-request`), /First request received/);
  assert.match(await open(wrong.id), /Waiting for the first accepted request/);
  test.advance(16 * 60_000);
  const html = await open(wrong.id);
  assert.doesNotMatch(html, /Waiting for/);
  assert.match(html, /422 Unprocessable/);
  const stopped = await open(`${unused.id}/first-request`);
  assert.match(stopped, /Waiting for the first request/);
  assert.doesNotMatch(stopped, /hx-trigger="every/);
});
