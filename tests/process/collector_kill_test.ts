// Kills the program while a gateway sends each event twice over and its mapping changes: each event counts once.
import assert from "node:assert/strict";
import { sendJson } from "../support/process/journey.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { runCommand } from "../support/process/command.ts";
import { inScene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";

const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning", HTTP_THREADS: "2" };
const eventCount = repeats({ quick: 400, full: 10_000 });
const batchEvents = 100;
const killChance = repeats({ quick: 40, full: 10 }) / 100;

const metrics = Array.from({ length: 8 }, (_, at) => ({
  productSlug: "models",
  metric: `metric-${at}`,
  path: `n${at}`,
}));
const events = Array.from({ length: eventCount }, (_, at) => ({
  specversion: "1.0",
  type: "call",
  source: "gateway",
  id: `event-${at}`,
  data: Object.fromEntries(metrics.map(({ path }, metric) => [path, at + metric])),
}));

Deno.test(
  "each event of eight metrics counts once when it is sent twice, the program is killed and the mapping changes",
  { timeout: faultsTimeoutMs },
  () =>
    inScene({ env }, async (scene) => {
      const random = faultRandom("collector_kill_test.ts");
      const { folder } = scene;
      await scene.start();
      const { organizationId, apiKeys } = await signUpForLoad(scene.baseUrl);
      const token = async (scopes: string) =>
        (await runCommand({ folder }, "token", "create", "Gateway", "--scope", scopes)).stdout.trim();
      const [operator, apiKey] = [await token("statements:write"), await token("usage:collect")];
      const changeMapping = (method: string, path: string, json: object) =>
        sendJson(scene.baseUrl, `/api/operator/event-mappings${path}`, { method, apiKey: operator, json });
      const created = await changeMapping("POST", "", { name: "Calls", type: "call", metrics });
      assert.equal(created.status, 201);
      const { mapping: { id } } = await created.json();

      const send = async (at: number): Promise<number | null> => {
        const json = events.slice(at, at + batchEvents).map((event) => ({
          ...event,
          subject: organizationId,
        }));
        try {
          const response = await sendJson(scene.baseUrl, "/api/v1/events", { apiKey, json });
          const text = await response.text();
          assert.ok([204, 503].includes(response.status), text);
          return response.status;
        } catch (error) {
          // The program was killed.
          if (error instanceof assert.AssertionError) throw error;
          return null;
        }
      };
      let kills = 0;
      for (let round = 0; round < 2; round++) {
        for (let at = 0; at < eventCount; at += batchEvents) {
          const isKilled = random.chance(killChance) || (round === 0 && at === batchEvents);
          // Another order, or an entry less: the records of the others stay the same.
          const changed = random.chance(0.5) ? metrics.toReversed() : metrics.slice(round === 0 ? 1 : 0);
          const change = await changeMapping("PATCH", `/${id}`, { metrics: changed, name: `Calls ${at}` });
          assert.equal(change.status, 200);
          const sent = send(at);
          if (isKilled) {
            await letOthersRun(random.between(0, 60));
            scene.program.kill("SIGKILL");
            await scene.program.ended();
            kills++;
            await sent;
            await scene.start();
          }
          if (await sent !== 204) { while (await send(at) !== 204); }
        }
      }
      assert.ok(kills > 0);
      assert.equal((await changeMapping("PATCH", `/${id}`, { metrics })).status, 200);
      for (let at = 0; at < eventCount; at += batchEvents) assert.equal(await send(at), 204);
      const range = new URLSearchParams({
        from: new Date(Date.now() - 24 * 3_600_000).toISOString(),
        to: new Date(Date.now() + 24 * 3_600_000).toISOString(),
        groupBy: "metric",
        window: "total",
      });
      const response = await sendJson(scene.baseUrl, `/api/v1/usage?${range}`, { apiKey: apiKeys[0] ?? "" });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      const sums = new Map<string, [number, number]>(
        JSON.parse(text).data.map((row: { metric: string; count: number; sum: number }) => [
          row.metric,
          [row.count, row.sum],
        ]),
      );
      for (const [metric, { metric: slug }] of metrics.entries()) {
        const sum = eventCount * (eventCount - 1) / 2 + metric * eventCount;
        assert.deepEqual(sums.get(slug), [eventCount, sum], slug);
      }
    }),
);
