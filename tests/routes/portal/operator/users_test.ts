// The console's pages of users.
import assert from "node:assert/strict";
import { createTestKey, testApp } from "../../../support/app/app.ts";
import { assertOutcome, assertRows } from "../../../support/app/rows.ts";
import { recordWith } from "../../../support/meter/usage.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { signInAgain } from "../../../support/people/people.ts";
import { openPage } from "../../../support/portal/pages.ts";

const list = "/operator/users";

testApp("operators find users by name, address and status", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  await test.signUp("Grace Hopper");
  for (
    const [query, names] of [
      ["", ["Grace Hopper", "Ada Lovelace", "Mara Rossi"]],
      ["?search=lovel", ["Ada Lovelace"]],
      [`?search=${ada.email}`, ["Ada Lovelace"]],
      ["?status=disabled", []],
    ] as const
  ) {
    const { html } = await openPage(test, list + query, { person: mara });
    const found = [...html.matchAll(/<a class="name"[^>]*>\s*<bdi>([^<]*)<\/bdi>/g)].map(([, name]) => name);
    assert.deepEqual(found, names, query);
    assert.equal(html.includes("No matching users"), names.length === 0);
  }
  assert.equal((await openPage(test, `${list}?status=nonsense`, { person: mara })).status, 200);
});

testApp("operators reset a user's password, sign them out, and disable and enable them", async (test) => {
  const mara = await newOperator(test);
  const ada = await test.signUp("Ada Lovelace");
  const { fullKey } = await createTestKey(test, ada);
  const user = `${list}/${ada.userId}`;
  const done = (what: string) => `303 ${user}?done=${what}`;
  const assertOut = (cookie: string) =>
    assertRows(test, { cookie }, [["GET /api/portal/api-keys", null, "401 unauthenticated"]]);
  await assertRows(test, mara, [
    [`GET ${list}/usr_nope`, null, 404],
    [`GET ${user}`, null, 200, {
      shows: [
        "Ada Lovelace’s organization",
        `/operator/organizations/${ada.organizationId}`,
        "Unknown device",
      ],
    }],
    [`GET ${user}/reset-password`, null, 200, { shows: [ada.email] }],
    [`POST ${user}/reset-password`, {}, done("reset")],
  ]);
  assert.match((await test.mails()).at(-1)?.text ?? "", /reset-password\?token=/);
  await assertRows(test, mara, [
    [`POST ${user}/sign-out`, {}, 303],
    [`GET ${user}`, null, 200, { shows: ["Not signed in"] }],
  ]);
  await assertOut(ada.cookie);
  const cookie = await signInAgain(test, ada.email);
  await assertRows(test, mara, [
    [`GET ${user}/disable`, null, 200, { shows: ["Disable <bdi>Ada Lovelace</bdi>?"] }],
    [`POST ${user}/disable`, { keys: "nonsense" }, 422],
    [`POST ${user}/disable`, { keys: "keep" }, done("disabled")],
    [`GET ${user}?done=disabled`, null, 200, { shows: ["User disabled."] }],
  ]);
  await assertOut(cookie);
  await assertOutcome(recordWith(test, fullKey), 201);
  await assertRows(test, mara, [
    [`POST ${user}/enable`, {}, done("enabled")],
    [`POST ${user}/disable`, { keys: "revoke" }, done("disabled")],
  ]);
  await assertOutcome(recordWith(test, fullKey), 401);
});
