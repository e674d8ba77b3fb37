// The portal's pages of usage records.
import assert from "node:assert/strict";
import { pageItemsDefault } from "../../../../domain/limits.ts";
import { createTestKey, type TestApp, testApp, type TestPerson } from "../../../support/app/app.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { openPage } from "../../../support/portal/pages.ts";
import { joinedPerson, verifiedPerson } from "../../../support/people/people.ts";
import { onEveryDatabase, recordAll, recordOne, voidOne } from "../../../support/meter/usage.ts";

const path = "/portal/usage/records";

/** Opens a list. @returns The quantities on it in order, and the links to the pages around it. */
async function openList(test: TestApp, person: TestPerson, query = "") {
  const address = query.startsWith("/") ? query : `${path}?${query}`;
  const { html, status } = await openPage(test, address, { person });
  assert.equal(status, 200, html.slice(0, 300));
  const linkTo = (words: string) =>
    new RegExp(`<a class="button plain" href="([^"]+)"[^>]*>${words}</a>`).exec(html)?.[1]?.replaceAll(
      "&amp;",
      "&",
    );
  return {
    html,
    quantities: [...html.matchAll(/num" ?>(?:<span class="name">|<s class="muted">)([\d.,]+)</g)].map((
      [, one],
    ) => one),
    older: linkTo("Older records"),
    newer: linkTo("Newer records"),
    errors: [...html.matchAll(/id="([a-z]+)-error"/gi)].map(([, name]) => name),
  };
}

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 12, minute)).toISOString();

onEveryDatabase("the list of records pages to the oldest record and back, with any filter", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  const count = 2 * pageItemsDefault + 20;
  // Several records have the same time, also around the ends of pages.
  const records = Array.from({ length: count }, (_, n) => ({
    productSlug: n % 2 === 0 ? "tiles" : "search",
    metric: "requests",
    quantity: n + 1,
    timestamp: at(Math.floor(n / 7)),
  }));
  await recordAll(test, { apiKey, records });
  for (const filter of ["", "status=counted", "metric=requests&from=2026-11-21&to=2026-11-21"]) {
    const first = await openList(test, person, filter);
    assert.equal(first.newer, undefined, filter);
    const second = await openList(test, person, first.older);
    const third = await openList(test, person, second.older);
    assert.equal(third.older, undefined);
    const seen = [first, second, third].flatMap(({ quantities }) => quantities);
    assert.equal(new Set(seen).size, count, filter);
    const back = await openList(test, person, third.newer);
    assert.deepEqual(back.quantities, second.quantities, filter);
    assert.deepEqual((await openList(test, person, back.newer)).quantities, first.quantities, filter);
  }
  const tiles = await openList(test, person, "productSlug=tiles");
  const last = await openList(test, person, tiles.older);
  assert.equal(last.quantities.length, count / 2 - pageItemsDefault);
  assert.deepEqual((await openList(test, person, last.newer)).quantities, tiles.quantities);
});

onEveryDatabase("lists voided records by themselves, with who and why", async (test) => {
  const person = await test.signUp();
  const other = await test.signUp("Grace");
  const { fullKey: apiKey } = await createTestKey(test, person);
  const { id } = await recordOne(test, apiKey, { quantity: 11, timestamp: at(1) });
  await recordOne(test, apiKey, { quantity: 12, timestamp: at(2), idempotencyKey: "order-12" });
  await recordOne(test, apiKey, { quantity: 13, timestamp: at(3), metric: "bytes" });
  await voidOne(test, { apiKey, id, reason: "Sent <twice>." });
  const list = async (query: string) => (await openList(test, person, query)).quantities;
  assert.deepEqual(await list(""), ["13", "12", "11"]);
  assert.deepEqual(await list("status=counted"), ["13", "12"]);
  assert.deepEqual(await list("status=voided"), ["11"]);
  assert.deepEqual(await list("status=voided&metric=bytes"), []);
  assert.deepEqual(await list("status=voided&metric=requests"), ["11"]);
  assert.deepEqual(await list("search=order-12"), ["12"]);
  assert.deepEqual(await list("search=order-12&status=voided"), []);
  const { html } = await openList(test, person, "status=voided");
  assert.match(
    html,
    /<s class="muted">11<\/s>[^]*Voided[^]*by <bdi>Production<\/bdi>: <bdi>Sent &lt;twice&gt;\./,
  );
  assert.deepEqual((await openList(test, other, "status=voided")).quantities, []);
});

testApp("any address of the list shows a page, and wrong days are marked", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  await recordOne(test, apiKey, { quantity: 11, timestamp: "2026-11-20T23:30:00Z" });
  const list = (query: string) => openList(test, person, query);
  for (const query of ["cursor=nonsense", "cursor=use_000000000000000000000000", "newerThan=x", "apiKey=x"]) {
    assert.deepEqual((await list(query)).quantities, ["11"], query);
  }
  assert.deepEqual((await list("metric=%22%3E")).quantities, ["11"]);
  const wrong = await list("from=2026-11-22&to=2026-11-21");
  assert.deepEqual([wrong.quantities, wrong.errors], [[], ["to"]]);
  // The last day ends at midnight in the time zone.
  assert.deepEqual((await list("to=2026-11-20")).quantities, ["11"]);
  assert.deepEqual((await list("to=2026-11-20&timezone=Europe/Berlin")).quantities, []);
  assert.deepEqual((await list("from=2026-11-21&timezone=Europe/Berlin")).quantities, ["11"]);
});

testApp(
  "the page of a record has all of its fields, and its key's page only for those who may open it",
  async (test) => {
    const owner = await verifiedPerson(test);
    const member = await joinedPerson(test, owner, "MEMBER");
    const { fullKey: apiKey, id: keyId } = await createTestKey(test, owner, { name: "Import <EU>" });
    const { id } = await recordOne(test, apiKey, { quantity: 1234.5, idempotencyKey: "order-1" });
    const open = (person: TestPerson) => openPage(test, `${path}/${id}`, { person });
    const { html } = await open(owner);
    assert.match(html, /<h1>1,234.5 <bdi>requests<\/bdi><\/h1>/);
    for (const shown of [id, "order-1", "tiles", `href="/portal/api-keys/${keyId}"><bdi>Import &lt;EU&gt;`]) {
      assert.ok(html.includes(shown), shown);
    }
    const json =
      /id="record-json".*?<pre>([^]*?)<\/pre>/.exec(html)?.[1]?.replaceAll(/<[^>]+>/g, "").replaceAll(
        "&quot;",
        '"',
      ) ?? "";
    const sent = await test.send(`/api/v1/usage/records/${id}`, { apiKey });
    assert.deepEqual(JSON.parse(json), (await sent.json()).usageRecord);
    const ofMember = (await open(member)).html;
    assert.ok(ofMember.includes("<bdi>Import &lt;EU&gt;</bdi>"));
    assert.ok(!ofMember.includes(`href="/portal/api-keys/${keyId}"`));
    const list = await openList(test, member);
    assert.ok(list.html.includes(`href="${path}/${id}"`) && !list.html.includes(`/portal/api-keys/${keyId}`));
    assert.equal((await open(await test.signUp("Grace"))).status, 404);
    await voidOne(test, { apiKey, id, reason: "Sent twice." });
    assert.match((await open(owner)).html, /Voided on Nov 21, 2026, 14:03:11 UTC by[^]*Sent twice\./);
  },
);

testApp("operators see a customer's records as members do, and void one with a reason", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada");
  const grace = await test.signUp("Grace");
  const { fullKey, id } = await createTestKey(test, ada);
  await recordOne(test, fullKey, { quantity: 4711, idempotencyKey: "order-1" });
  await recordOne(test, fullKey, { quantity: 17 });
  const base = `/operator/organizations/${ada.organizationId}`;
  const open = (page: string, form?: Record<string, string>) =>
    openPage(test, page, { person: mara, ...(form && { form }) });
  const { html: all } = await open(`${base}/usage/records`);
  assert.match(all, /You’re viewing[^]*Ada’s organization[^]*17[^]*4,711/);
  assert.ok(all.includes(`href="${base}/api-keys/${id}"`));
  assert.doesNotMatch(all, /"\/portal\/usage/);
  const { html } = await open(`${base}/usage/records?search=order-1`);
  assert.doesNotMatch(html, />17</);
  const [page = ""] = /\/operator\/[^"]+\/void/.exec(html) ?? [];
  assert.match((await open(page)).html, /Ada’s organization[^]*4,711 requests[^]*order-1/);
  const ofGrace = page.replace(ada.organizationId, grace.organizationId);
  assert.equal((await open(ofGrace)).status, 404);
  assert.equal((await open(ofGrace, { reason: "No" })).status, 404);
  assert.equal((await open(page, { reason: " " })).status, 422);
  const { location } = await open(page, { reason: "Sent <twice>" });
  assert.match(location ?? "", /done=voided/);
  for (const address of [location ?? "", `${base}/usage/records?search=order-1`]) {
    const after = (await open(address)).html;
    assert.match(after, /Voided[^]*Sent &lt;twice&gt;/);
    assert.ok(after.includes(mara.userId));
    assert.doesNotMatch(after, /\/void"/);
  }
  const own = (await openPage(test, location?.replace(base, "/portal") ?? "", { person: ada })).html;
  assert.match(own, /by the operator[^]*Sent &lt;twice&gt;/);
  assert.ok(!own.includes(mara.userId));
  assert.doesNotMatch((await openList(test, ada)).html, /\/void"/);
});
