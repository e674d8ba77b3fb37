// A collector's token floods the program with hostile events. Another organization records and verifies meanwhile, and an operator
// records for it, and none of their requests is rejected.
import assert from "node:assert/strict";
import { sendJson } from "../support/process/journey.ts";
import { post, signUpForLoad } from "../support/meter/load.ts";
import { runCommand } from "../support/process/command.ts";
import { poll } from "../support/runner/poll.ts";
import { repeats } from "../support/runner/extent.ts";
import { onServer } from "../support/process/scene.ts";

const floodClients = 4;
const neighborRounds = repeats({ quick: 1, full: 10 });

const metrics = Array.from({ length: 8 }, (_, at) => ({
  productSlug: "models",
  metric: `metric-${at}`,
  path: "n",
}));
const eventOf = (at: number, subject: string, data: object) => ({
  specversion: "1.0",
  type: "call",
  source: "gateway",
  id: `REQUEST-${at}`,
  subject,
  data,
});
const batchOf = (length: number, subject: (at: number) => string, data: object) =>
  JSON.stringify(Array.from({ length }, (_, at) => eventOf(at, subject(at), data)));
const deep = JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`);

/** The bodies of floods. “REQUEST” stands for the number of the request. */
const floods = (organizationId: string): Readonly<Record<string, string>> => ({
  "events that fill a subject": batchOf(15, () => "unknown", { n: 1, text: "x".repeat(65_000) }),
  "events of ever new subjects": batchOf(1_000, (at) => `REQUEST-${at}`, { n: 1, text: "x".repeat(800) }),
  "events of eight records": batchOf(1_000, () => organizationId, { n: 1 }),
  "events that contradict recorded ones": batchOf(1_000, () => organizationId, { n: 1 }).replaceAll(
    "REQUEST",
    "same",
  )
    .replaceAll('"n":1', '"n":"REQUEST"'),
  "deep events": batchOf(1_000, () => organizationId, { n: 1, deep }),
  "events with long numbers": batchOf(1_000, () => organizationId, { n: `1e-${"9".repeat(3)}` }),
});

Deno.test("hostile events of a collector cost a neighbor no request", (t) =>
  onServer({ env: { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "error" } }, async ({ baseUrl, folder }) => {
    const { organizationId, apiKeys: [fullKey = ""] } = await signUpForLoad(baseUrl);
    const token = async (...scopes: string[]) => {
      const options = scopes.flatMap((scope) => ["--scope", scope]);
      return (await runCommand({ folder }, "token", "create", "Gateway", ...options)).stdout.trim();
    };
    const operator = await token("statements:write", "keys:verify", "usage:write", "organizations:write");
    const apiKey = await token("usage:collect");
    const ofOperator = async (path: string, json: object) => {
      const response = await sendJson(baseUrl, path, { apiKey: operator, json });
      const text = await response.text();
      assert.ok(response.ok, text);
      return JSON.parse(text);
    };
    await ofOperator("/api/operator/event-mappings", { name: "Calls", type: "call", metrics });
    const { organization: loud } = await ofOperator("/api/operator/organizations", { name: "Loud" });

    const record = { productSlug: "tiles", metric: "requests", quantity: 1 };
    const records = Array.from({ length: 500 }, () => record);
    const requests: readonly (readonly [path: string, apiKey: string, json: object])[] = [
      ["/api/v1/usage", fullKey, record],
      ["/api/v1/usage/batch", fullKey, { records }],
      ["/api/v1/keys/verify", operator, { key: fullKey }],
      ["/api/operator/usage", operator, { records: records.map((one) => ({ ...one, organizationId })) }],
    ];
    for (const [name, body] of Object.entries(floods(loud.id))) {
      await t.step(`with ${name}`, async () => {
        let isRunning = true;
        let [sent, handled] = [0, 0];
        const clients = Array.from({ length: floodClients }, async () => {
          while (isRunning) {
            const response = await fetch(`${baseUrl}/api/v1/events`, {
              method: "POST",
              headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
              body: body.replaceAll("REQUEST", String(sent++)),
            });
            await response.body?.cancel();
            assert.ok([204, 409, 422, 503].includes(response.status), String(response.status));
            if (response.status !== 503) handled++;
          }
        });
        try {
          await poll(() => handled >= 2);
          for (let round = 0; round < neighborRounds; round++) {
            for (const [path, apiKey, json] of requests) {
              const answer = await post(baseUrl, { path, apiKey, json });
              assert.ok(
                [200, 201].includes(answer?.status ?? 0),
                `${path}: ${answer?.status} ${answer?.text}`,
              );
            }
          }
        } finally {
          isRunning = false;
          await Promise.all(clients);
        }
      });
    }
  }));
