// Events about limits per value name the values of properties that the catalogue's metric lists as shareable.
import assert from "node:assert/strict";
import { namedValuesMax } from "../../../../domain/meter/value_limit.ts";
import { recheckSomeLimits } from "../../../../services/meter/limit_rechecks.ts";
import { mailLimitNotices } from "../../../../services/meter/limit_mails.ts";
import type { TestApp } from "../../../support/app/app.ts";
import { operatorOf } from "../../../support/operators/operator_api.ts";
import { onBothDatabases } from "../../../support/meter/usage.ts";
import { ofUser, perUser, valueScene } from "../../../support/meter/value_limits.ts";
import { run } from "../../../support/people/scene.ts";

/** A customer with limits per value of a metric in the catalogue. */
async function shareableScene(test: TestApp, shareable: readonly string[], ...limits: readonly object[]) {
  const catalogue = await operatorOf(test, ["statements:read", "statements:write"]);
  const share = (shareable: readonly string[]) => [{ slug: "requests", name: "Requests", shareable }];
  const json = { slug: "tiles", name: "Tiles", metrics: share(shareable) };
  assert.equal((await catalogue("POST /products", json)).status, 201);
  const scene = await valueScene(test, ...limits);
  const { organizationId, cookie } = scene.person;
  await run(
    test,
    "UPDATE users SET email_verified_at = 1 WHERE id = (SELECT user_id FROM memberships WHERE organization_id = ?)",
    organizationId,
  );
  return {
    ...scene,
    catalogue,
    setShareable: async (names: readonly string[]) =>
      assert.equal((await catalogue("PATCH /products/tiles", { metrics: share(names) })).status, 200),
    /** Records 4 for each of these users at the same time. */
    batch: async (users: readonly string[], quantity = 4) => {
      const records = users.map((user) => ({
        ...{ productSlug: "tiles", metric: "requests", quantity },
        ...ofUser(user),
      }));
      const response = await test.send("/api/v1/usage/batch", { apiKey: scene.apiKey, json: { records } });
      assert.equal(response.status, 201, await response.text());
    },
    /** The events about limits, the oldest first, such as `limit.reached 100 u1`. */
    events: async () => {
      const found: string[] = [];
      let cursor = "";
      do {
        const page = await test.send(`/api/portal/events?limit=100${cursor}`, { cookie });
        const { events, nextCursor } = await page.json();
        for (const { type, data: { limit, percent = "" } } of events) {
          if (limit) found.push(`${type} ${percent} ${"value" in limit ? limit.value : "-"}`);
        }
        cursor = nextCursor === null ? "" : `&cursor=${nextCursor}`;
      } while (cursor !== "");
      return found.reverse();
    },
    /** The subjects of new emails about limits. */
    mails: async () => {
      const before = (await test.mails()).length;
      while (await mailLimitNotices(test.services, test.parts.mailWorker.withheld));
      return (await test.mails()).slice(before).map(({ subject }) => subject);
    },
  };
}

onBothDatabases("events name each value of a shareable property once for each level", async (test) => {
  const { use, events, person } = await shareableScene(test, ["team", "user"], perUser);
  await use("u2", 4);
  await use("u1", 4);
  await use("u1", 0.5);
  assert.deepEqual(await events(), ["limit.approaching 80 u2", "limit.approaching 80 u1"]);
  await use("u1", 1);
  await use("u2", 1);
  await use("u2", 1);
  await use("u1", 1);
  await use("u3", 5);
  const expected = [
    "limit.approaching 80 u2",
    "limit.approaching 80 u1",
    "limit.reached 100 u1",
    "limit.reached 100 u2",
    "limit.reached 100 u3",
  ];
  assert.deepEqual(await events(), expected);
  const page = await test.send("/api/portal/events?type=limit.reached", { cookie: person.cookie });
  const [{ data }] = (await page.json()).events;
  assert.deepEqual([data.limit.by, data.limit.value, data.used, data.reason], ["user", "u3", 5, "full"]);
});

onBothDatabases("a window has one email for each level, about the first value", async (test) => {
  const { use, batch, mails, events } = await shareableScene(test, ["user"], perUser);
  await batch(["u5", "u6"]);
  assert.deepEqual((await mails()).length, 1);
  await use("u1", 4);
  assert.deepEqual(await mails(), []);
  await use("u1", 1);
  await use("u2", 5);
  assert.deepEqual((await mails()).length, 1);
  await use("u3", 5);
  await use("u4", 4);
  assert.deepEqual(await mails(), []);
  assert.equal((await events()).length, 7);
});

onBothDatabases(
  "events of a window name 100 values, and all others share one of each level",
  async (test) => {
    const { use, batch, events } = await shareableScene(test, ["user"], perUser);
    const users = Array.from({ length: namedValuesMax + 10 }, (_, n) => `u${n}`);
    await batch(users.slice(0, 60));
    await batch(users.slice(60));
    await use("late", 4);
    const first = await events();
    assert.equal(new Set(first).size, first.length);
    assert.equal(first.filter((event) => /80 u\d+$/.test(event)).length, namedValuesMax);
    assert.deepEqual(first.filter((event) => !/ u\d+$/.test(event)), ["limit.approaching 80 -"]);
    await batch([...users, "late"], 1);
    const second = (await events()).slice(first.length);
    const named = (list: readonly string[]) => list.map((event) => event.split(" ")[2]).sort();
    assert.deepEqual(named(second), named(first));
    assert.deepEqual(second.filter((event) => !/ u\d+$/.test(event)), ["limit.reached 100 -"]);
  },
);

onBothDatabases("events name no values of properties that not all counted metrics list", async (test) => {
  const { use, events, setShareable, catalogue } = await shareableScene(test, ["team"], perUser);
  await use("secret-1", 4);
  await use("secret-2", 4);
  assert.deepEqual(await events(), ["limit.approaching 80 -"]);
  // The limit counts this metric of all products.
  const metrics = (shareable: readonly string[]) => [
    { slug: "requests", name: "Requests", shareable },
    { slug: "bytes", name: "Data" },
  ];
  const other = { slug: "other", name: "Other", metrics: metrics([]) };
  assert.equal((await catalogue("POST /products", other)).status, 201);
  await setShareable(["user"]);
  await use("secret-1", 1);
  assert.deepEqual((await events()).slice(1), ["limit.reached 100 -"]);
  const changed = await catalogue("PATCH /products/other", { metrics: metrics(["user"]) });
  assert.equal(changed.status, 200);
  await use("open", 5);
  assert.deepEqual((await events()).slice(2), ["limit.reached 100 open"]);
});

onBothDatabases("events of alerts per value name values alike", async (test) => {
  const { use, events, person: { cookie }, setShareable, mails } = await shareableScene(test, ["user"]);
  const json = { productSlug: "tiles", metric: "requests", per: "day", by: "user", quantity: 5 };
  assert.equal((await test.send("/api/portal/alerts", { cookie, json })).status, 201);
  await use("a", 9);
  await use("b", 4);
  await use("c", 5);
  assert.deepEqual(await events(), [
    "limit.exceeded 100 a",
    "limit.approaching 80 b",
    "limit.exceeded 100 c",
  ]);
  assert.equal((await mails()).length, 1);
  await setShareable([]);
  await use("d", 9);
  assert.deepEqual((await events()).slice(3), ["limit.exceeded 100 -"]);
  assert.deepEqual(await mails(), []);
});

onBothDatabases("a limit that named values is cleared once when it is removed", async (test) => {
  const { batch, events, setLimits } = await shareableScene(test, ["user"], perUser);
  await batch(["a", "b", "c"], 5);
  await setLimits();
  while (await recheckSomeLimits(test.services, { complete: () => Promise.resolve() }));
  assert.deepEqual((await events()).slice(3), ["limit.cleared  -"]);
});
