// Every list that takes an organization's id also takes `external:` and its external id.
import assert from "node:assert/strict";
import { testApp } from "../../../support/app/app.ts";
import { documentOf } from "../../../support/app/documented.ts";
import { customer } from "../../../support/meter/statements.ts";
import { asOperator } from "../../../support/operators/operator_api.ts";
import { newOperatorToken } from "../../../support/operators/operators.ts";
import { run } from "../../../support/people/scene.ts";

testApp("every filter by organization takes an external id, and rejects an unknown one", async (test) => {
  const ada = await customer(test, "Ada");
  await run(test, "UPDATE organizations SET external_id = 'c/1' WHERE id = ?", ada.organizationId);
  await ada.record("2026-10-20T12:00:00.000Z");
  const { fullToken } = await newOperatorToken(test);
  const send = asOperator(test, fullToken);
  const lists = Object.entries(documentOf(test.app).paths).filter(([path, { get }]) =>
    path.startsWith("/api/operator/") && get?.parameters?.some(({ name }) => name === "organizationId")
  );
  assert.ok(lists.length >= 9, String(lists.length));
  for (const [path] of lists) {
    const at = path.slice("/api/operator".length).replace("{id}", "open");
    const [byId, byExternalId, unknown] = await Promise.all(
      [ada.organizationId, "external:c%2F1", "external:c%2F2"].map((id) =>
        send(`GET ${at}${at.includes("?") ? "&" : "?"}organizationId=${id}`)
      ),
    );
    assert.deepEqual([byId?.status, byExternalId?.status, unknown?.status], [200, 200, 404], path);
    const withoutRequest = (body: unknown) => JSON.stringify(body).replace(/"requestId":"\w+"/, "");
    assert.equal(withoutRequest(byExternalId?.body), withoutRequest(byId?.body), path);
  }
});
