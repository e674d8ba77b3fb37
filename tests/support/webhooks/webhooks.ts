// Creates webhook endpoints.
import assert from "node:assert/strict";
import type { TestApp, TestPerson } from "../app/app.ts";

/** Creates an endpoint for all events at an address that needs no name server. @returns Its id. */
export async function createTestWebhook(test: TestApp, { cookie }: TestPerson): Promise<string> {
  const json = { url: "https://1.1.1.1/", events: ["*"] };
  const response = await test.send("/api/portal/webhooks", { cookie, json });
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).webhook.id;
}
