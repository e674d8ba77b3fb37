// Deliveries while organizations are deleted, endpoints are switched, and people try to make much work.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../services/organization/organization_deletion.ts";
import { testApp } from "../../support/app/app.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import {
  addEndpoint,
  addEvents,
  anotherWorker,
  stateOf,
  webhookSettings,
  withReceiver,
} from "../../support/webhooks/endpoints.ts";

const status = (code: number) => () => new Response(null, { status: code });

testApp(
  "operators get the events of an organization that was deleted before they were sent",
  (test) =>
    withReceiver(async (operators) => {
      const { organizationId } = await test.signUp();
      const endpoint = await addEndpoint(test, { organizationId: null, url: operators.url });
      operators.respond(status(503));
      const ids = await addEvents(test, organizationId, 3);
      const worker = anotherWorker(test, { random: () => 0.5 });
      await worker.deliverDue();
      ids.push(...await addEvents(test, organizationId, 2));
      operators.respond(status(204));
      operators.received.length = 0;
      const { fullToken: apiKey } = await newOperatorToken(test);
      const path = `/api/operator/organizations/${organizationId}`;
      assert.equal((await test.send(path, { method: "DELETE", apiKey })).status, 204);
      while (await deleteSomeOfDeletedOrganizations(test.services)) { /* More may be left. */ }
      const [left] = await test.opened.database.read(sql`SELECT count(*) AS count FROM organizations`);
      assert.equal(left?.["count"], 0);
      test.advance(6_000);
      await worker.deliverDue();
      const types = operators.received.map(({ body }) => JSON.parse(body).type);
      assert.equal(types.filter((type) => type === "organization.deleted").length, 1);
      assert.deepEqual(
        operators.received.map(({ id }) => id).filter((id) => ids.includes(id)).sort(),
        ids.sort(),
      );
      // Without its event, a delivery ends and holds up no other.
      await test.opened.database.write([
        sql`UPDATE webhook_deliveries SET status = 'waiting' WHERE status = 'delivered'`,
        sql`DELETE FROM events`,
      ]);
      await worker.deliverDue();
      assert.deepEqual((await stateOf(test, endpoint)).waiting, 0);
    }),
  webhookSettings,
);
