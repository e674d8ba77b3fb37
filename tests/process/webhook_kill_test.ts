// Kills the program at random moments while people and programs change things: each committed change has one event, each event reaches
// the endpoint at least once with the same body, and nothing else does.
import assert from "node:assert/strict";
import { poll } from "../support/runner/poll.ts";
import { sendJson } from "../support/process/journey.ts";
import { httpThreads, killProgram, type Program } from "../support/process/program.ts";
import { inScene, stop } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { storedInFile } from "../support/meter/stored_usage.ts";

const env = { LOG_LEVEL: "warning", API_KEY_REQUESTS_PER_SECOND: "0", WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" };
const rounds = repeats({ quick: 2, full: 50 });
/** More is never recorded than the hard limit allows, which rises by this much when it is reached. */
const limitStep = 10;

Deno.test(
  "after kills at random moments, each committed change has one event, and each event reached the endpoint",
  { timeout: faultsTimeoutMs * Math.ceil(rounds / 40) },
  () =>
    inScene({ env }, async (scene) => {
      const random = faultRandom("webhook_kill_test.ts");
      const bodies = new Map<string, Set<string>>();
      const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
      await using receiver = Deno.serve(options, async (request) => {
        const id = request.headers.get("webhook-id") ?? "";
        bodies.set(id, (bodies.get(id) ?? new Set()).add(await request.text()));
        // A kill often comes between the request and its response.
        await letOthersRun(random.between(0, 30));
        return new Response(null, { status: 204 });
      });
      let starts = 0;
      const start = () =>
        scene.start({ env: { HTTP_THREADS: httpThreads[starts++ % httpThreads.length] as string } });
      const { baseUrl } = await start();
      const person = await signUpForLoad(baseUrl);
      const { organizationId, cookie } = person;
      const { stdout } = await scene.run("token", "create", "Limits", "--scope", "organizations:write");
      const token = stdout.trim();
      const url = `http://127.0.0.1:${receiver.addr.port}/`;
      const json = { url, events: ["*"] };
      const created = await sendJson(baseUrl, "/api/portal/webhooks", { cookie, json });
      assert.equal(created.status, 201, await created.text());
      const changes = new Changes({ organizationId, cookie, token, fullKey: person.apiKeys[0] as string });
      await changes.setLimit(baseUrl);
      for (let round = 0; round < rounds; round++) {
        const end = changes.begin(() => scene.baseUrl);
        const before = changes.acknowledged.size;
        if (random.chance(0.8)) await poll(() => changes.acknowledged.size > before);
        // On a slow machine, later rounds may end before anything is recorded.
        if (round === 0) await poll(() => changes.raises >= 2);
        await letOthersRun(random.between(50, 400));
        await killProgram(scene.program);
        await end();
        await start();
      }
      assert.deepEqual(changes.surprises, []);
      await untilDelivered(scene.program, bodies);
      await stop(scene.program);
      await checkEvents(scene.path, { acknowledged: changes.acknowledged, bodies });
    }),
);

/** Waits until no delivery waits. An endpoint gets two requests at a time, so this may take a while: each poll waits for some more. */
async function untilDelivered(program: Program, bodies: ReadonlyMap<string, unknown>): Promise<void> {
  const waiting = async () => {
    const text = await (await fetch(`${program.baseUrl}/metrics`)).text();
    const [, waiting] = /^gatehouse_webhook_deliveries_waiting (\d+)$/m.exec(text) ?? [];
    assert.ok(waiting !== undefined, text);
    return Number(waiting);
  };
  for (let before = -1; bodies.size > before || await waiting() > 0;) {
    before = bodies.size;
    await poll(async () => bodies.size > before + 50 || await waiting() === 0);
    // Longer than the worker rests before it looks for new events.
    await letOthersRun(1500);
  }
}

/** Changes things with several clients at a time, and knows which changes were acknowledged. */
class Changes {
  /** Ids of created keys, and `ID revoked` or `ID rotated`. */
  readonly acknowledged = new Set<string>();
  readonly surprises: string[] = [];
  /** How often the limit was reached and raised. */
  raises = 0;
  #limit = 0;

  constructor(readonly by: Record<"organizationId" | "cookie" | "token" | "fullKey", string>) {}

  /** Sets or raises the hard limit. */
  async setLimit(baseUrl: string): Promise<void> {
    this.#limit += limitStep;
    const limit = { productSlug: null, metric: null, per: "total", quantity: this.#limit, mode: "hard" };
    const { token, organizationId } = this.by;
    const path = `/api/operator/organizations/${organizationId}`;
    await this.#send(baseUrl, path, {
      method: "PATCH",
      apiKey: token,
      json: { overrides: { apiKeysMax: 10_000, limits: [limit] } },
    });
  }

  /** @returns A function that ends the clients after their current requests. */
  begin(baseUrl: () => string): () => Promise<void> {
    let isRunning = true;
    const client = async (work: (baseUrl: string) => Promise<void>) => {
      while (isRunning) await work(baseUrl());
    };
    const clients = [
      client((url) => this.#changeKey(url)),
      client((url) => this.#changeKey(url)),
      ...[1, 2, 3, 4].map(() => client((url) => this.#record(url))),
    ];
    return async () => {
      isRunning = false;
      await Promise.all(clients);
    };
  }

  async #changeKey(baseUrl: string): Promise<void> {
    const { cookie } = this.by;
    const created = await this.#send(baseUrl, "/api/portal/api-keys", { cookie, json: { name: "Load" } });
    if (created === null) return;
    const id = created.apiKey.id;
    this.acknowledged.add(id);
    const rotated = await this.#send(baseUrl, `/api/portal/api-keys/${id}/rotate`, {
      cookie,
      json: { expireOldAt: "now" },
    });
    if (rotated === null) return;
    this.acknowledged.add(`${id} rotated`);
    const revoked = await this.#send(baseUrl, `/api/portal/api-keys/${rotated.apiKey.id}`, {
      method: "DELETE",
      cookie,
    });
    if (revoked !== null) this.acknowledged.add(`${rotated.apiKey.id} revoked`);
    // Fewer events than an endpoint gets in the same time.
    await letOthersRun(50);
  }

  async #record(baseUrl: string): Promise<void> {
    const json = { productSlug: "tiles", metric: "requests", quantity: 1 };
    const recorded = await this.#send(baseUrl, "/api/v1/usage", { apiKey: this.by.fullKey, json });
    if (recorded !== "limited") return;
    await this.setLimit(baseUrl);
    this.raises++;
  }

  // deno-lint-ignore no-explicit-any
  async #send(baseUrl: string, path: string, options: Parameters<typeof sendJson>[2]): Promise<any> {
    const response = await sendJson(baseUrl, path, options).catch(() => null);
    if (response === null || response.status === 503) {
      // Between a kill and the next start.
      await letOthersRun(20);
      return null;
    }
    if (response.status === 429) return "limited";
    const text = await response.text();
    if (response.ok) return JSON.parse(text === "" ? "{}" : text);
    this.surprises.push(`${path}: ${response.status} ${text}`);
    return null;
  }
}

/** Compares what is stored with what was acknowledged and with what arrived. */
async function checkEvents(
  path: string,
  { acknowledged, bodies }: {
    acknowledged: ReadonlySet<string>;
    bodies: ReadonlyMap<string, ReadonlySet<string>>;
  },
): Promise<void> {
  const stored = await storedInFile(path);
  const events = await stored.read(`SELECT id, type, facts FROM events
    WHERE seq > (SELECT since_seq FROM webhooks) ORDER BY seq`);
  const told = await stored.read(`SELECT 'evt_' || substr(id, 5) AS id FROM audit_events
    WHERE action IN ('api_key.created', 'api_key.rotated', 'api_key.revoked')
      AND 'evt_' || substr(id, 5) NOT IN (SELECT id FROM events WHERE seq <= (SELECT since_seq FROM webhooks))`);
  const ofKeys = events.filter(({ type }) => String(type).startsWith("api_key."));
  const sorted = (rows: typeof told) => rows.map(({ id }) => String(id)).sort();
  assert.deepEqual(sorted(ofKeys), sorted(told));
  const happened = new Set(ofKeys.map(({ type, facts }) => {
    const id = JSON.parse(String(facts)).target.id;
    return type === "api_key.created" ? id : `${id} ${String(type).slice("api_key.".length)}`;
  }));
  assert.deepEqual([...acknowledged].filter((change) => !happened.has(change)), []);
  // Each stored key has one event of its creation, and one of its end if it ended; there are no others.
  const keys = await stored.read(`SELECT id, revoked_at AS revokedAt FROM api_keys
    WHERE id NOT IN (SELECT facts ->> '$.target.id' FROM events WHERE seq <= (SELECT since_seq FROM webhooks))`);
  const parsed = ofKeys.map(({ type, facts }) => ({ type, ...JSON.parse(String(facts)) }));
  const begun = parsed.flatMap(({ type, target, details }) =>
    type === "api_key.created" ? [target] : type === "api_key.rotated" ? [{ id: details.replacedBy }] : []
  );
  const ended = parsed.flatMap(({ type, target }) => type === "api_key.created" ? [] : [target]);
  assert.deepEqual(sorted(begun), sorted(keys));
  assert.deepEqual(sorted(ended), sorted(keys.filter(({ revokedAt }) => revokedAt !== null)));

  // A limit is reached, cleared and reached in turn; what it rejects has no event and isn't stored. After a rejection, it can be reached
  // again immediately: a raised limit may be used up before the server checks that it has room.
  const states = events.filter(({ type }) => /^limit\.(reached|cleared)$/.test(String(type)));
  assert.ok(states.length >= 2, "the limit was never reached and cleared");
  let next = ["limit.reached"];
  for (const { type, facts } of states) {
    assert.ok(next.includes(String(type)), `${type} instead of ${next.join(" or ")}`);
    const afterReached = JSON.parse(String(facts)).isRefusal === 1
      ? ["limit.cleared", "limit.reached"]
      : ["limit.cleared"];
    next = type === "limit.reached" ? afterReached : ["limit.reached"];
  }
  const [usage] = await stored.read(`SELECT (SELECT count(*) FROM usage_records) AS records,
    (SELECT quantity_whole FROM usage_limits WHERE organization IS NOT NULL) AS quantity`);
  assert.ok(Number(usage?.["records"]) <= Number(usage?.["quantity"]));
  const types = new Set(events.map(({ type }) => String(type).split(".")[0]));
  assert.deepEqual([...types].sort(), ["api_key", "limit"]);

  assert.deepEqual([...bodies.keys()].sort(), sorted(events));
  for (const [id, different] of bodies) assert.equal(different.size, 1, `${id} had several bodies`);
  const unfinished = await stored.read("SELECT status FROM webhook_deliveries WHERE status <> 'delivered'");
  assert.deepEqual(unfinished, []);
  await stored.close();
}
