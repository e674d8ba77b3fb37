// Kills the program while a gateway sends each event twice over, its mapping changes, and unknown subjects are assigned: each event
// counts once.
import assert from "node:assert/strict";
import { sendJson } from "../support/process/journey.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { runCommand } from "../support/process/command.ts";
import { inScene } from "../support/process/scene.ts";
import { poll } from "../support/runner/poll.ts";
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
const unknownSubjects = ["user-0", "user-1", "user-2"];
/** A third of the events has an unknown subject. */
const events = Array.from({ length: eventCount }, (_, at) => ({
  specversion: "1.0",
  type: "call",
  source: "gateway",
  id: `event-${at}`,
  subject: at % 3 === 0 ? unknownSubjects[at / 3 % unknownSubjects.length] : undefined,
  data: Object.fromEntries(metrics.map(({ path }, metric) => [path, at + metric])),
}));

Deno.test(
  "each event of eight metrics counts once when it is sent twice, the program is killed, the mapping changes and its subject is assigned",
  { timeout: faultsTimeoutMs },
  () =>
    inScene({ env }, async (scene) => {
      const random = faultRandom("collector_kill_test.ts");
      const { folder } = scene;
      await scene.start();
      const { organizationId, apiKeys } = await signUpForLoad(scene.baseUrl);
      const token = async (...scopes: string[]) => {
        const options = scopes.flatMap((scope) => ["--scope", scope]);
        return (await runCommand({ folder }, "token", "create", "Gateway", ...options)).stdout.trim();
      };
      const operator = await token("statements:write", "usage:read", "usage:write");
      const apiKey = await token("usage:collect");
      const changeMapping = (method: string, path: string, json: object) =>
        sendJson(scene.baseUrl, `/api/operator/event-mappings${path}`, { method, apiKey: operator, json });
      const created = await changeMapping("POST", "", { name: "Calls", type: "call", metrics });
      assert.equal(created.status, 201);
      const { mapping: { id } } = await created.json();

      const send = async (at: number): Promise<"recorded" | "kept" | "again"> => {
        const json = events.slice(at, at + batchEvents).map((event) => ({
          ...event,
          subject: event.subject ?? organizationId,
        }));
        try {
          const response = await sendJson(scene.baseUrl, "/api/v1/events", { apiKey, json });
          const text = await response.text();
          if (response.status === 204) return "recorded";
          if (response.status === 503) return "again";
          const { error: { code, details } } = JSON.parse(text);
          const isKept = ({ message }: { message: string }) => message.includes("The event is kept");
          assert.ok(code === "subject_unknown" && details.every(isKept), text);
          return "kept";
        } catch (error) {
          // The program was killed.
          if (error instanceof assert.AssertionError) throw error;
          return "again";
        }
      };
      const assign = async (subject: string): Promise<void> => {
        const json = { subject, organizationId };
        const path = "/api/operator/subjects/assign";
        const status = () =>
          sendJson(scene.baseUrl, path, { apiKey: operator, json }).then(
            async (response) => (await response.body?.cancel(), response.status),
            () => null,
          );
        await poll(async () => await status() === 200);
      };
      const unassigned = [...unknownSubjects];
      const assignments: Promise<void>[] = [];
      let kills = 0;
      for (let round = 0; round < 2; round++) {
        for (let at = 0; at < eventCount; at += batchEvents) {
          const isKilled = random.chance(killChance) || (round === 0 && at === batchEvents);
          // Another order, or an entry less: the records of the others stay the same.
          const changed = random.chance(0.5) ? metrics.toReversed() : metrics.slice(round === 0 ? 1 : 0);
          const change = await changeMapping("PATCH", `/${id}`, { metrics: changed, name: `Calls ${at}` });
          assert.equal(change.status, 200);
          const sent = send(at);
          if (at >= batchEvents && random.chance(0.5)) {
            assignments.push(
              ...unassigned.splice(0, 1).map(assign),
            );
          }
          if (isKilled) {
            await letOthersRun(random.between(0, 60));
            scene.program.kill("SIGKILL");
            await scene.program.ended();
            kills++;
            await sent;
            await scene.start();
          }
          if (await sent === "again") { while (await send(at) === "again"); }
        }
      }
      assert.ok(kills > 0);
      await Promise.all([...assignments, ...unassigned.map(assign)]);
      await poll(async () => {
        const response = await sendJson(scene.baseUrl, "/api/operator/subjects", { apiKey: operator });
        const { subjects } = await response.json();
        assert.equal(subjects.length, unknownSubjects.length);
        return subjects.every(({ kept, lost }: { kept: number; lost: number }) => kept + lost === 0);
      });
      assert.equal((await changeMapping("PATCH", `/${id}`, { metrics })).status, 200);
      for (let at = 0; at < eventCount; at += batchEvents) assert.equal(await send(at), "recorded");
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
