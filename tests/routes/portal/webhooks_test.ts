// The pages of webhook endpoints: forms, the new secret, and who sees them.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../../domain/limits.ts";
import { testApp } from "../../support/app/app.ts";
import { newOperator } from "../../support/operators/console.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";
import { openPage } from "../../support/portal/pages.ts";
import { createTestWebhook } from "../../support/webhooks/webhooks.ts";

const typed = {
  "url": "https://1.1.1.1/hooks",
  "description": "Billing",
  "limit.*": "on",
  "member.added": "on",
};
const secretIn = (html: string) => /whsec_[A-Za-z0-9+/]{43}=/.exec(html)?.[0];

testApp(
  "forms add, edit, rotate, disable, enable and delete an endpoint, and show each new secret once",
  async (test) => {
    const ada = await verifiedPerson(test);
    const mara = await newOperator(test);
    for (const [base, person] of [["/portal", ada], ["/operator", mara]] as const) {
      const open = (path: string, form?: Record<string, string>) =>
        openPage(test, `${base}/webhooks${path}`, { person, ...(form && { form }) });
      const added = await open("/new", typed);
      assert.equal(added.status, 201, added.html);
      const id = /whk_[0-9a-f]{32}/.exec(added.html)?.[0];
      const secret = secretIn(added.html);
      assert.ok(secret !== undefined);
      assert.ok(added.html.includes(`WEBHOOK_SECRET=${secret}<`));
      assert.match(added.html, /is ready<[^]*verifyWebhook[^]*Send test/);
      const shown = await open(`/${id}`);
      assert.ok(!shown.html.includes(secret));
      assert.match(shown.html, /<h1><bdi>Billing[^]*https:\/\/1\.1\.1\.1\/hooks[^]*limit\.\*, member\.added/);

      const form = await open(`/${id}/edit`);
      assert.match(form.html, /name="limit\.\*" value="on" checked/);
      assert.match(form.html, /<details class="event-group" open>[^]*Limits and alerts[^]*1 chosen/);
      assert.doesNotMatch(form.html, /name="\*" value="on" checked/);
      for (const { html } of [form, await open(`/${id}/test`)]) {
        assert.equal(/statement\.|organization\.created/.test(html), person === mara);
      }
      const rejected = await open(`/${id}/edit`, { url: "http://1.1.1.1/", description: "Typed" });
      assert.equal(rejected.status, 422);
      assert.match(rejected.html, /value="Typed"/);
      assert.match(rejected.html, /id="url-error"[^]*id="events-error"[^]*Choose at least one event\./);
      const blocked = await open(`/${id}/edit`, { ...typed, url: "https://127.0.0.1/" });
      assert.match(blocked.html, /id="url-error"[^]*public addresses/);
      const edited = await open(`/${id}/edit`, { ...typed, description: "Invoices", "*": "on" });
      assert.equal(edited.location, `${base}/webhooks/${id}?done=saved`);
      assert.match((await open(`/${id}?done=saved`)).html, /Changes to “Invoices” have been saved/);

      const rotated = await open(`/${id}/rotate`, { expireOld: "7d" });
      assert.equal(rotated.status, 201);
      assert.notEqual(secretIn(rotated.html), secret);
      assert.match(rotated.html, /New secret for “<bdi>Invoices<[^]*The old secret works until/);
      assert.match((await open(`/${id}`)).html, />Old secret<[^]*Signs until/);
      assert.equal((await open(`/${id}/rotate`, { expireOld: "8d" })).status, 422);
      for (
        const [action, text] of [["disable", "“Invoices” has been disabled."], [
          "enable",
          "“Invoices” has been enabled.",
        ]] as const
      ) {
        const done = await open(`/${id}/${action}`, {});
        assert.equal(done.location, `${base}/webhooks/${id}?done=${action}d`);
        assert.ok((await open(`/${id}?done=${action}d`)).html.includes(text), action);
      }
      const other = { ...typed, url: "https://1.1.1.1/other" };
      const otherId = /whk_[0-9a-f]{32}/.exec((await open("/new", other)).html)?.[0];
      assert.match((await open("")).html, /2 of \d+ webhooks[^]*1\.1\.1\.1\/other[^]*Invoices/);
      await open(`/${otherId}/delete`, {});
      assert.equal((await open(`/${id}/delete`, {})).location, `${base}/webhooks?done=deleted`);
      assert.match((await open("")).html, /No webhooks yet/);
    }
  },
);

testApp("members have no link to webhooks, and forms ask for a recent authentication", async (test) => {
  const ada = await verifiedPerson(test);
  const bob = await joinedPerson(test, ada, "MEMBER");
  const id = await createTestWebhook(test, ada);
  const links = async (person: typeof ada) =>
    (await openPage(test, "/portal", { person })).html.includes('href="/portal/webhooks"');
  assert.deepEqual([await links(ada), await links(bob)], [true, false]);
  assert.equal((await openPage(test, "/portal/webhooks", { person: bob })).status, 403);
  test.advance(recentAuthenticationMs + 1);
  for (const action of ["new", `${id}/edit`, `${id}/delete`]) {
    for (const form of [undefined, typed]) {
      const path = `/portal/webhooks/${action}`;
      const { location } = await openPage(test, path, { person: ada, ...(form && { form }) });
      assert.equal(location, `/portal/confirm-password?return_to=${encodeURIComponent(path)}`);
    }
    assert.equal((await openPage(test, `/portal/webhooks/${action}`, { person: bob })).status, 403);
  }
});
