// The portal's first page: the first steps, then the overview.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { AppError } from "../../../domain/errors.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../support/app/app.ts";
import { addLimit } from "../../support/meter/limits.ts";
import { openPage } from "../../support/portal/pages.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";
import { poll } from "../../support/runner/poll.ts";
import { createTestWebhook } from "../../support/webhooks/webhooks.ts";
import { onEveryDatabase, recordOne } from "../../support/meter/usage.ts";

/** @returns The marks of the steps on the page, such as `done`. */
async function stepsOf(test: TestApp, person: TestPerson): Promise<string[]> {
  const { html, status } = await openPage(test, "/portal", { person });
  assert.equal(status, 200);
  return [...html.matchAll(/class="step-row ?([a-z]*)"/g)].map(([, mark = ""]) => mark);
}

testApp("the first page ticks each step that is done", async (test) => {
  const person = await test.signUp();
  assert.deepEqual(await stepsOf(test, person), ["now", "", ""]);
  const verified = await verifiedPerson(test, "Grace");
  assert.deepEqual(await stepsOf(test, verified), ["done", "now", ""]);
  const { html } = await openPage(test, "/portal", { person: verified });
  assert.match(html, /<a class="button primary" href="\/portal\/api-keys\/new"/);
  assert.match(html, /hx-get="\/portal" hx-push-url="false" hx-trigger="every 5s"/);
  assert.ok(html.includes('href="/portal/members"'));
  await createTestKey(test, verified);
  assert.deepEqual(await stepsOf(test, verified), ["done", "done", "now"]);
  // Members see the keys that they created.
  const member = await joinedPerson(test, verified, "MEMBER");
  assert.deepEqual(await stepsOf(test, member), ["done", "now", ""]);
  const ofMember = (await openPage(test, "/portal", { person: member })).html;
  assert.ok(!ofMember.includes("Invite a member"));
});

onEveryDatabase("with usage, the first page shows the month and leads on", async (test) => {
  const owner = await verifiedPerson(test, "Olive");
  const member = await joinedPerson(test, owner, "MEMBER");
  const { fullKey: apiKey, id } = await createTestKey(test, owner, { name: "Import <EU>" });
  await recordOne(test, apiKey, { quantity: 40 });
  await recordOne(test, apiKey, { quantity: 2, timestamp: "2026-11-02T00:00:00Z" });
  await recordOne(test, apiKey, { quantity: 7, metric: "bytes" });
  await recordOne(test, apiKey, { quantity: 500, timestamp: "2026-10-31T00:00:00Z" });
  const open = async (person: TestPerson, path = "/portal") => (await openPage(test, path, { person })).html;
  const html = await open(owner);
  const strip = [...html.matchAll(/<a class="figure" href="([^"]+)"( aria-current="true")?/g)]
    .map(([, href, chosen]) => [href, chosen !== undefined]);
  assert.deepEqual(strip, [["/portal?metric=bytes", false], ["/portal?metric=requests", true]]);
  assert.match(html, /class="value">42</);
  assert.ok(html.includes(`href="/portal/api-keys/${id}"`));
  assert.match(html, /Recent activity[^]*Created the key [^]*Import &lt;EU&gt;/);
  const bytes = await open(owner, "/portal?metric=bytes");
  assert.match(bytes, /href="\/portal\?metric=bytes" aria-current="true"/);
  assert.match(await open(owner, "/portal?metric=%22%3E"), /metric=requests" aria-current="true"/);
  // Members see usage, but neither the audit log nor other people's keys.
  const ofMember = await open(member);
  assert.match(ofMember, /class="value">42</);
  assert.ok(!ofMember.includes("Recent activity") && !ofMember.includes("two-step"));
  assert.ok(!ofMember.includes(`/portal/api-keys/${id}`));
});

testApp("the overview remembers the metric that a person chose there", async (test) => {
  const person = await verifiedPerson(test, "Olive");
  const { fullKey: apiKey } = await createTestKey(test, person);
  for (const metric of ["requests", "requests", "bytes"]) await recordOne(test, apiKey, { metric });
  const chosen = async () => {
    const { html } = await openPage(test, "/portal", { person });
    return /metric=([a-z]+)" aria-current="true"/.exec(html)?.[1];
  };
  assert.equal(await chosen(), "requests");
  for (const site of ["cross-site", "same-origin"]) {
    const headers = { "sec-fetch-site": site };
    const response = await test.send("/portal?metric=bytes", { cookie: person.cookie, headers });
    await response.body?.cancel();
    if (site === "cross-site") assert.equal(await chosen(), "requests");
  }
  await poll(async () => await chosen() === "bytes");
});

testApp("the overview names what needs attention, and keeps it from those who can't see it", async (test) => {
  const owner = await verifiedPerson(test, "Olive");
  const member = await joinedPerson(test, owner, "MEMBER");
  const { fullKey: apiKey } = await createTestKey(test, owner);
  const attention = async (person: TestPerson) => {
    const { html } = await openPage(test, "/portal", { person });
    const [list = ""] = /Needs attention[^]*?<\/section>/.exec(html) ?? [];
    return [...list.matchAll(/<bdi class="name">([^<]+)<\/bdi>[^]*?<a href="([^"]+)"/g)].map((
      [, title, href],
    ) => [title, href]);
  };
  await recordOne(test, apiKey, { quantity: 81 });
  assert.deepEqual(await attention(owner), [["2 members without two-step sign-in", "/portal/members"]]);
  assert.deepEqual(await attention(member), []);
  const soon = new Date(test.now() + 3 * 24 * 3_600_000).toISOString();
  await createTestKey(test, owner, { name: "Kartverket", expiresAt: soon });
  const { organizationId } = owner;
  await addLimit(test, { organizationId }, { metric: "requests", per: "month", quantity: 100 });
  const ofOwner = await attention(owner);
  assert.deepEqual(ofOwner.map(([, href]) => href), [
    "/portal/usage",
    "/portal/api-keys?status=expiring",
    "/portal/members",
  ]);
  assert.match(ofOwner[0]?.[0] ?? "", /81% used/);
  // The key is the owner's, the limit everyone's.
  assert.deepEqual((await attention(member)).map(([, href]) => href), ["/portal/usage"]);
  await recordOne(test, apiKey, { quantity: 19 });
  assert.match((await attention(owner))[0]?.[0] ?? "", /limit reached/);
  const webhook = await createTestWebhook(test, owner);
  const failing = sql`UPDATE webhooks SET failing_since = ${test.now()}`;
  await test.opened.database.write([failing]);
  const link = JSON.stringify(["“1.1.1.1” is failing", `/portal/webhooks/${webhook}`]);
  assert.ok(JSON.stringify(await attention(owner)).includes(link));
  assert.ok(!JSON.stringify(await attention(member)).includes("failing"));
});

testApp("the overview shows what it has while reports are not available", async (test) => {
  const owner = await verifiedPerson(test, "Olive");
  const { fullKey: apiKey } = await createTestKey(test, owner);
  await recordOne(test, apiKey, { quantity: 81 });
  test.services.reports.read = () => {
    throw new AppError("unavailable", "Busy.");
  };
  const { html, status } = await openPage(test, "/portal", { person: owner });
  assert.equal(status, 200);
  assert.match(html, /Not available right now/);
  assert.match(html, /Recent activity/);
});
