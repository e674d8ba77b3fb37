// The pages of deliveries: the list with its filters, tests, replays, and who may send them.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../support/app/app.ts";
import { newOperator } from "../../support/operators/console.ts";
import { joinedPerson, verifiedPerson } from "../../support/people/people.ts";
import { openPage } from "../../support/portal/pages.ts";
import { addDeliveries } from "../../support/webhooks/deliveries.ts";

const hourMs = 3_600_000;

testApp(
  "a test shows the response, a failed one is replayed, and secrets and the path stay hidden",
  async (test) => {
    const received: { id: string | null; text: string }[] = [];
    let status = 204;
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
      received.push({ id: request.headers.get("webhook-id"), text: await request.text() });
      return new Response(null, { status });
    });
    const url = `http://127.0.0.1:${server.addr.port}/canary-path?token=canary-query`;
    const secrets = ["canary-path", "canary-query"];
    const pages: string[] = [];
    for (
      const [base, person] of [["/portal", await verifiedPerson(test)], [
        "/operator",
        await newOperator(test),
      ]] as const
    ) {
      const api = `/api${base}/webhooks`;
      const json = { url, events: ["*"] };
      const { webhook: { id }, secret } = await (await test.send(api, { cookie: person.cookie, json }))
        .json();
      const rotated = await test.send(`${api}/${id}/rotate-secret`, { cookie: person.cookie, json: {} });
      secrets.push(secret.slice(6), (await rotated.json()).secret.slice(6));
      const one = `${base}/webhooks/${id}`;
      const open = async (path: string, form?: Record<string, string>) => {
        const page = await openPage(test, path, { person, ...(form && { form }) });
        // Its own page shows its URL.
        if (path !== one) pages.push(page.html);
        return page;
      };
      assert.match(
        (await open(one)).html,
        /No events sent yet[^]*Tests aren&#39;t counted[^]*No deliveries[^]*verifyWebhook/,
      );
      status = 204;
      const sent = await open(`${one}/test`, { type: "limit.reached" });
      assert.match(sent.location ?? "", /\/deliveries\/dlv_[0-9a-f]{32}\?done=tested$/);
      const shown = await open(sent.location ?? "");
      assert.match(
        shown.html,
        />Delivered<[^]*>Test<[^]*note done[^]*Test sent\.[^]*Responded with 204\./,
      );
      const [, copied = ""] = /<pre id="payload-copy" hidden="">([^<]*)</.exec(shown.html) ?? [];
      assert.equal(copied.replaceAll("&quot;", '"'), received.at(-1)?.text);
      assert.doesNotMatch(shown.html, /webhook-signature: v1/);
      const last = received.at(-1);
      assert.ok(last?.id && shown.html.includes(last.id));
      const deliveryId = /dlv_[0-9a-f]{32}/.exec(sent.location ?? "")?.[0];
      const { delivery } =
        await (await test.send(`${api}/${id}/deliveries/${deliveryId}`, { cookie: person.cookie })).json();
      assert.deepEqual(JSON.parse(last.text), delivery.payload);

      status = 410;
      const gone = await open((await open(`${one}/test`, { type: "webhook.test" })).location ?? "");
      assert.match(gone.html, /note error[^]*The test failed: HTTP 410\.[^]*Responded with 410\.</);
      assert.doesNotMatch(gone.html, /Given up|The webhook was disabled/);

      status = 302;
      const failed = (await open(`${one}/test`, { type: "limit.reached" })).location?.replace(/\?.*/, "") ??
        "";
      // Tests aren't replayed with others.
      assert.doesNotMatch((await open(one)).html, /Replay…/);
      assert.match(
        (await open(failed)).html,
        />Failed<[^]*Responded with 302\. Redirects aren&#39;t followed\./,
      );
      assert.equal((await open(`${failed}/replay`, {})).location, `${failed}?done=replayed`);
      status = 200;
      test.advance(1_000);
      await test.parts.webhooks.deliverDue();
      assert.match(
        (await open(failed)).html,
        /<h2>2 attempts<[^]*Responded with 200\.[^]*Responded with 302\./,
      );
      assert.equal(received.at(-1)?.id, received.at(-2)?.id);
      assert.equal((await open(`${one}/test`, { type: "limit.*" })).status, 422);
      for (status of [503, 410]) {
        test.advance(6_000);
        await createTestKey(test, person);
        await test.parts.webhooks.deliverDue();
      }
      assert.match((await open(`${base}/audit`)).html, /127\.0\.0\.1/);
    }
    await server.shutdown();
    assert.match(test.logged(), /webhook disabled/);
    const mails = (await test.mails()).map(({ text }) => text);
    assert.ok(mails.some((text) => text.includes("410 Gone")));
    const metrics = await (await test.send("/metrics")).text();
    for (const text of [...pages, ...mails, test.logged(), metrics]) {
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} is in ${text}`);
    }
  },
  { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
);

testApp("the list has filters, and only those who may change endpoints can replay", async (test) => {
  const ada = await verifiedPerson(test);
  const bob = await joinedPerson(test, ada, "MEMBER");
  const json = { url: "https://1.1.1.1/", events: ["*"] };
  const { webhook: { id } } = await (await test.send("/api/portal/webhooks", { cookie: ada.cookie, json }))
    .json();
  const now = test.now();
  const [held, failed] = await addDeliveries(test.opened.database, id, [
    { type: "limit.reached", status: "held", createdAt: now - 30 * hourMs },
    { type: "member.added", status: "failed", createdAt: now - 2 * hourMs, code: "overflow" },
  ]);
  const one = `/portal/webhooks/${id}`;
  const listed = async (query: string) => {
    const { status, html } = await openPage(test, one + query, { person: ada });
    assert.equal(status, 200, query);
    return { html, ids: [...html.matchAll(/\/deliveries\/(dlv_[0-9a-f]{32})"/g)].map(([, id]) => id) };
  };
  for (
    const [query, ids, text] of [
      ["", [failed, held], "Too many waiting"],
      ["?status=held", [held], ">Held<"],
      ["?type=member.added", [failed], "Clear filters"],
      ["?type=api_key.lost", [failed, held], "Unknown type “api_key.lost”; showing all."],
      ["?status=lost&cursor=x", [failed, held], "Unknown status “lost”; showing all."],
      ["?type=api_key.created", [], "No matching deliveries"],
      [`?from=2026-11-20&to=2026-11-20`, [held], "from 2026-11-20"],
      ["?from=2026-11-21&to=2026-11-20", [], "Fix the fields marked above."],
      ["?done=replayed&count=1", [failed, held], "Replaying 1 delivery."],
      ["?type=limit.reached", [held], "maps · Tiles per month"],
    ] as const
  ) {
    const page = await listed(query);
    assert.deepEqual(page.ids, ids, query);
    assert.ok(page.html.includes(text), query);
  }
  const replay = `${one}/replay`;
  assert.match((await listed("")).html, /Replay…[^]*Grace Hopper/);
  assert.equal((await openPage(test, replay, { person: bob, form: {} })).status, 403);
  assert.equal((await openPage(test, replay, { person: ada, form: { span: "1y" } })).status, 422);
  const replayed = (form: Record<string, string>) =>
    openPage(test, replay, { person: ada, form }).then(({ location }) => location);
  assert.equal(await replayed({ status: "held", span: "24h" }), `${one}?done=replayed&count=0`);
  assert.equal(await replayed({ status: "", span: "30d" }), `${one}?done=replayed&count=2`);
  const shown = await openPage(test, one, { person: ada });
  assert.doesNotMatch(shown.html, /Replay…/);
  const [later] = await addDeliveries(test.opened.database, id, [
    { type: "member.added", status: "waiting", createdAt: now, dueAt: now + hourMs },
  ]);
  for (const [delivery, isLater] of [[failed, false], [later, true]] as const) {
    const { html } = await openPage(test, `${one}/deliveries/${delivery}`, { person: ada });
    assert.equal(html.includes("Send now"), isLater);
  }
  const sent = await openPage(test, `${one}/deliveries/${later}/replay`, { person: ada, form: {} });
  assert.equal(sent.location, `${one}/deliveries/${later}?done=sent`);
});
