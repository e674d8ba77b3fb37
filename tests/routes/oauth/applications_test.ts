// A person's own list of applications with access.
import assert from "node:assert/strict";
import { testApp } from "../../support/app/app.ts";
import { assertRows } from "../../support/app/rows.ts";
import {
  addClient,
  answerOf,
  authorizeAddress,
  confirmed,
  consentForm,
  consentTo,
  exchange,
  post,
  userinfo,
} from "../../support/oauth/scene.ts";

const list = "/portal/account/applications";

testApp(
  "lists the applications with access, and removing one ends its tokens and asks again",
  async (test) => {
    const person = await confirmed(test, await test.signUp());
    const other = await confirmed(test, await test.signUp());
    const app = await addClient(test);
    const address = authorizeAddress(app);
    await assertRows(test, person, [[`GET ${list}`, null, 200, { shows: ["No applications yet"] }]]);
    const tokensOf = async (one: typeof person) => {
      const answer = await consentTo(test, one, address);
      return (await exchange(test, app, answer.get("code") ?? "")).body;
    };
    const tokens = await tokensOf(person);
    const others = await tokensOf(other);
    assert.equal((await userinfo(test, tokens.access_token)).status, 200);
    const waiting = await consentTo(test, person, authorizeAddress(app, { prompt: "consent" }));

    const one = `${list}/${app.id}/remove`;
    await assertRows(test, person, [
      [`GET ${list}`, null, 200, {
        shows: ["Grafana", "app.example.com", "openid, profile, email, groups", one],
      }],
      [`GET ${one}`, null, 200, { shows: ["Remove the access of"] }],
      [`POST ${one}`, {}, `303 ${list}?done=removed`],
      [`GET ${list}?done=removed`, null, 200, { shows: ["Access removed.", "No applications yet"] }],
      [`POST ${one}`, {}, 404],
      [`GET ${one}`, null, 404],
    ]);
    const refresh = (token: string) =>
      post(test, "/oauth/token", { grant_type: "refresh_token", refresh_token: token }, app);
    assert.equal((await userinfo(test, tokens.access_token)).status, 401);
    assert.equal((await refresh(tokens.refresh_token)).body.error, "invalid_grant");
    assert.equal((await exchange(test, app, waiting.get("code") ?? "")).body.error, "invalid_grant");
    assert.notEqual((await consentForm(test, person, address)).form.proof, "");
    // Another person's access stays.
    assert.equal((await userinfo(test, others.access_token)).status, 200);
  },
  { SECRETS_KEY: btoa("7".repeat(32)) },
);

testApp("lists applications that ask no one, too, and removing one ends its access", async (test) => {
  const person = await confirmed(test, await test.signUp());
  const app = await addClient(test, { name: "Wiki", consent: false });
  const answer = await answerOf(test, person, authorizeAddress(app, { scope: "openid email" }));
  const tokens = (await exchange(test, app, answer.get("code") ?? "")).body;
  const one = `${list}/${app.id}/remove`;
  await assertRows(test, person, [
    [`GET ${list}`, null, 200, { shows: ["Wiki", "app.example.com", one] }],
    [`GET ${one}`, null, 200, { shows: ["without asking"] }],
    [`POST ${one}`, {}, `303 ${list}?done=removed`],
    [`GET ${list}`, null, 200, { shows: ["No applications yet"] }],
    [`POST ${one}`, {}, 404],
  ]);
  assert.equal((await userinfo(test, tokens.access_token)).status, 401);
}, { SECRETS_KEY: btoa("7".repeat(32)) });
