// Names of features: operators give them, and customers read them instead of slugs.
import assert from "node:assert/strict";
import { planFeaturesMax } from "../../../../domain/feature.ts";
import { testApp } from "../../../support/app/app.ts";
import { assertRows, fetchJson } from "../../../support/app/rows.ts";
import { newOperator } from "../../../support/operators/console.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { textOf } from "../../../support/portal/markup.ts";
import { openPage } from "../../../support/portal/pages.ts";

testApp("customers read the names that operators give features, and slugs without one", async (test) => {
  const [mara, ada] = [await newOperator(test), await test.signUp()];
  const { plans: [{ id }] } = await fetchJson(test, mara, "GET /api/operator/plans");
  const edit = `/operator/plans/${id}/edit`;
  const form = {
    ...{ name: "Default", apiKeysMax: "9", membersMax: "9", requestsPerSecond: "0", usageSeriesMax: "9" },
    ...{ "features[0].slug": "sso", "features[0].name": " Single sign-on ", "features[2].slug": "beta" },
    ...{ "features[3].slug": "constructor", "confirmed": "on" },
  };
  await assertRows(test, mara, [[`POST ${edit}`, form, 303]]);
  const { plan } = await fetchJson(test, ada, "GET /api/portal/plan");
  assert.deepEqual(plan.features, ["beta", "constructor", "sso"]);
  assert.deepEqual(plan.featureNames, { sso: "Single sign-on" });
  assert.match(
    textOf((await openPage(test, "/portal/billing", { person: ada })).html),
    /The plan includes beta , constructor , Single sign-on \./,
  );
  // Operators see both, and the form shows what is stored.
  for (const page of [`/operator/plans/${id}`, `/operator/organizations/${ada.organizationId}/limits`]) {
    assert.match(
      textOf((await openPage(test, page, { person: mara })).html),
      /Single sign-on \( sso \)/,
      page,
    );
  }
  const { html } = await openPage(test, edit, { person: mara });
  assert.match(
    html,
    /name="features\[2\]\.slug" value="sso".*name="features\[2\]\.name" value="Single sign-on"/s,
  );
  await assertRows(test, mara, [
    [
      `POST ${edit}`,
      { ...form, "features[2].name": "x".repeat(101), "features[5].name": "No feature" },
      422,
      {
        shows: ['id="features[1].name-error"', 'id="features[3].slug-error"', 'value=" Single sign-on "'],
      },
    ],
  ]);
});

testApp("names are of features that the plan has, and are kept until they are replaced", async (test) => {
  const { fullToken } = await newOperatorToken(test, ["organizations:read", "organizations:write"]);
  const send = asOperator(test, fullToken);
  const names = { "sso": "Single sign-on", "maps:satellite": "Satellite maps" };
  const features = ["sso", "maps:satellite"];
  const created = await send("POST /plans", { name: "Pro", features, featureNames: names });
  assert.deepEqual([created.status, created.body.plan.featureNames], [201, names]);
  const change = async (change: object) => {
    const { status, body } = await send(`PATCH /plans/${created.body.plan.id}`, change);
    return status === 200 ? body.plan.featureNames : body.error.details;
  };
  assert.deepEqual(await change({ membersMax: 7 }), names);
  assert.deepEqual(await change({ features: ["sso", "beta"] }), { sso: "Single sign-on" });
  assert.deepEqual(await change({ features }), { sso: "Single sign-on" });
  assert.deepEqual(await change({ featureNames: { "maps:satellite": "Satellite" } }), {
    "maps:satellite": "Satellite",
  });
  const fault = (path: string, message: string) => [{ path, message }];
  assert.deepEqual(
    await change({ featureNames: { beta: "Beta" } }),
    fault("featureNames.beta", "is not a feature of the plan."),
  );
  assert.deepEqual(
    await change({ featureNames: { sso: " " } }),
    fault("featureNames.sso", "must be 1 to 100 characters."),
  );
  const many = Object.fromEntries(Array.from({ length: planFeaturesMax + 1 }, (_, n) => [`f${n}`, "F"]));
  assert.deepEqual(
    await change({ featureNames: many }),
    fault("featureNames", "must have at most 32 names."),
  );
  assert.deepEqual(await change({ featureNames: {} }), {});
  const audit = await test.opened.database.read<{ details: string }>({
    sql: "SELECT details FROM audit_events WHERE action = 'plan.changed' ORDER BY id",
    args: [],
  });
  assert.deepEqual(audit.map(({ details }) => JSON.parse(details).featureNames), [
    ...[undefined, undefined, undefined, "maps:satellite, sso", "maps:satellite"],
  ]);
});
