// Features of plans: who sets them, and where products read them.
import assert from "node:assert/strict";
import { planFeaturesMax } from "../../../../domain/feature.ts";
import { Gatehouse } from "../../../../packages/client/src/index.ts";
import { requireKey } from "../../../../packages/client/src/fetch.ts";
import { createTestKey } from "../../../support/app/app.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";

const scopes = ["organizations:read", "organizations:write", "keys:verify", "usage:write"] as const;
const tiles = { product: "tiles", metric: "requests" };

onEveryDatabase("features of a plan are reported everywhere from the next request on", async (test) => {
  const { fullToken } = await newOperatorToken(test, [...scopes]);
  const send = asOperator(test, fullToken);
  const person = await test.signUp();
  const { cookie, organizationId } = person;
  const { fullKey: apiKey } = await createTestKey(test, person);
  const other = await test.send("/api/portal/organizations", { cookie, json: { name: "Other" } });
  const otherId = (await other.json()).organization.id;

  const json = async (path: string, options: Parameters<typeof test.send>[1]) =>
    await (await test.send(path, options)).json();
  const read = async () => ({
    verified: (await json("/api/v1/keys/verify", { apiKey: fullToken, json: { key: apiKey } })).organization
      .features,
    recorded: (await json("/api/v1/keys/verify", {
      apiKey: fullToken,
      json: { key: apiKey, usage: { productSlug: "tiles", metric: "requests", record: true } },
    })).organization.features,
    me: (await json("/api/auth/me", { cookie })).features,
    session: (await test.send("/api/auth/forward", { cookie })).headers.get("remote-features")?.split(","),
    key: (await test.send("/api/auth/forward?accept=key", { apiKey })).headers.get("remote-features")
      ?.split(","),
    limits: (await json("/api/v1/limits", { apiKey })).features,
    portal: (await json("/api/portal/limits", { cookie })).features,
    plan: (await json("/api/portal/plan", { cookie })).plan.features,
    operator: (await send(`GET /organizations/${organizationId}/limits`)).body.features,
  });
  const created = await send("POST /plans", { name: "Pro", features: ["sso", "maps:satellite", "sso"] });
  assert.deepEqual(created.body.plan.features, ["maps:satellite", "sso"]);
  const { id } = created.body.plan;
  const none = await read();
  assert.deepEqual(Object.values(none).flat().filter((name) => name !== ""), []);
  assert.equal((await send(`PATCH /organizations/${organizationId}`, { planId: id })).status, 200);
  const all = await read();
  for (const [where, features] of Object.entries(all)) {
    assert.deepEqual(features, ["maps:satellite", "sso"], where);
  }
  // Those of the requested organization, and of the active one.
  const ofOther = await test.send(`/api/auth/forward?organization=${otherId}`, { cookie });
  assert.equal(ofOther.headers.get("remote-features"), "");
  await test.send("/api/auth/organization", { cookie, json: { organizationId: otherId } });
  assert.deepEqual((await json("/api/auth/me", { cookie })).features, []);
  await test.send("/api/auth/organization", { cookie, json: { organizationId } });

  // A change of something else keeps them, and a change of them is audited.
  await send(`PATCH /plans/${id}`, { membersMax: 7 });
  assert.deepEqual((await json("/api/auth/me", { cookie })).features, ["maps:satellite", "sso"]);
  await send(`PATCH /plans/${id}`, { features: ["beta"] });
  await send(`PATCH /plans/${id}`, { features: ["beta"] });
  assert.deepEqual((await read()).me, ["beta"]);
  const audit = await test.opened.database.read<{ details: string }>({
    sql: "SELECT details FROM audit_events WHERE action = 'plan.changed' ORDER BY id",
    args: [],
  });
  assert.deepEqual(audit.map(({ details }) => JSON.parse(details).features), [undefined, "beta"]);

  for (const feature of ["", "SSO", "a b", "-a", "x".repeat(65), "a,b"]) {
    const { status, body } = await send(`PATCH /plans/${id}`, { features: ["a", feature] });
    assert.equal(status, 422, feature);
    assert.equal(body.error.details[0].path, "features[1]");
  }
  const many = Array.from({ length: planFeaturesMax + 1 }, (_, at) => `f${at}`);
  const { body } = await send(`PATCH /plans/${id}`, { features: many });
  assert.deepEqual(body.error.details, [{ path: "features", message: "must have at most 32 features." }]);
  assert.equal((await send(`PATCH /plans/${id}`, { features: many.slice(1) })).status, 200);
});

onEveryDatabase("requireKey admits only organizations whose plan includes a feature", async (test) => {
  const { fullToken: operatorToken } = await newOperatorToken(test, [...scopes]);
  const { fullKey } = await createTestKey(test, await test.signUp());
  const gatehouse = new Gatehouse({
    url: "http://localhost:8000",
    operatorToken,
    fetch: async (input, init) =>
      await test.app.fetch(new Request(input, init), { remoteAddr: { hostname: "127.0.0.1" } }),
  });
  const handler = requireKey(
    { gatehouse, feature: ["sso", "beta"], meter: tiles, limit: true },
    (_request, { apiKey }) => Response.json(apiKey.organization.features),
  );
  const visit = async () =>
    await handler(new Request("http://a.test/", { headers: { Authorization: `Bearer ${fullKey}` } }));
  const setFeatures = (list: string[]) =>
    test.opened.database.write([{ sql: "UPDATE plans SET features = ?", args: [JSON.stringify(list)] }]);
  await setFeatures(["sso"]);
  const denied = await visit();
  assert.equal(denied.status, 403);
  const { code, message } = (await denied.json()).error;
  assert.deepEqual([code, message], [
    "feature_missing",
    "The plan of this organization doesn't include beta.",
  ]);
  const records = () =>
    test.opened.database.readFirst<{ n: number }>({
      sql: "SELECT count(*) AS n FROM usage_records",
      args: [],
    });
  assert.equal((await records())?.n, 0, "a denied request records nothing");
  await setFeatures(["beta", "sso"]);
  await test.opened.database.write([{ sql: "UPDATE plans SET requests_per_second = 1", args: [] }]);
  assert.deepEqual(await (await visit()).json(), ["beta", "sso"], "it counts once against the key's rate");
  assert.equal((await records())?.n, 1);
});
