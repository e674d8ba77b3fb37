// The SQL of the portal's first page.
import assert from "node:assert/strict";
import { findFirstSteps } from "../../../db/console/portal_overview.ts";
import { plansOf } from "../../support/database/query_plans.ts";

Deno.test("embedded database: a member's first steps are found without reading the keys of others", async () => {
  const [plan] = await plansOf((database) =>
    findFirstSteps(database, { organizationId: "org_1", createdBy: "usr_1" })
  );
  const ofKeys = plan?.steps.filter((step) => step.includes("api_keys"));
  assert.deepEqual(ofKeys, ["SEARCH api_keys USING INDEX api_keys_created_by (created_by=?)"]);
});
