// The statements of codes, grants and tokens, on both databases.
import assert from "node:assert/strict";
import { onBothDatabases } from "../../support/meter/usage.ts";
import {
  addClient,
  addResource,
  authorizeAddress,
  confirmed,
  consentTo,
  exchange,
  post,
  userinfo,
} from "../../support/oauth/scene.ts";
import { run } from "../../support/people/scene.ts";

onBothDatabases("codes, refreshes, and the ends of a grant", async (test) => {
  const person = await confirmed(test, await test.signUp());
  const app = await addClient(test, {
    access: { organizationIds: [person.organizationId], minRole: "MEMBER" },
  });
  const uri = "https://mcp.example.com";
  await addResource(test, { uri });
  const addresses = [
    authorizeAddress(app),
    authorizeAddress(app, { resource: uri, scope: "tools:call offline_access" }),
  ];
  const [forUserinfo, forResource] = await Promise.all(addresses.map(async (address) => {
    const code = (await consentTo(test, person, address)).get("code") ?? "";
    const { status, body } = await exchange(test, app, code);
    assert.equal(status, 200, JSON.stringify(body));
    return { code, ...body };
  }));
  const refresh = (token: string) =>
    post(test, "/oauth/token", { grant_type: "refresh_token", refresh_token: token }, app);
  const first = await refresh(forUserinfo.refresh_token);
  const again = await refresh(forUserinfo.refresh_token);
  assert.equal(first.body.refresh_token, again.body.refresh_token);
  assert.equal((await userinfo(test, first.body.access_token)).body.sub, person.userId);
  assert.equal((await exchange(test, app, forUserinfo.code)).body.error, "invalid_grant");
  assert.equal((await userinfo(test, first.body.access_token)).status, 401);
  await test.send("/api/auth/sign-out", { method: "POST", cookie: person.cookie });
  const offline = await refresh(forResource.refresh_token);
  assert.equal(offline.status, 200);
  await run(test, "UPDATE users SET access_ended_at = ? WHERE id = ?", test.now(), person.userId);
  assert.equal((await refresh(offline.body.refresh_token)).body.error, "invalid_grant");
});
