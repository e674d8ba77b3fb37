// Limits, plans and time zones that change while holds are active: `held` is the sum of the active holds, at any time.
import assert from "node:assert/strict";
import { createTestKey } from "../../../support/app/app.ts";
import { holdScene } from "../../../support/meter/holds.ts";
import { fromMillionths, millionths, onEveryDatabase } from "../../../support/meter/usage.ts";
import { seededRandom } from "../../../support/runner/random.ts";
import { runSeed } from "../../../support/runner/extent.ts";

interface HeldRecord {
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: number;
}

interface ActiveHold {
  readonly id: string;
  readonly key: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly records: readonly HeldRecord[];
}

interface Standing {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly per: string;
  readonly limitId: string;
  readonly held: number;
}

const hourMs = 3_600_000;

/** By time zone and moment, because formatting takes long. */
const dates = new Map<string, string>();

/** Names the window of a moment by the clocks of a time zone. */
function windowOf(per: string, at: number, timeZone: string): string {
  if (per === "total") return "";
  if (per === "hour") return String(Math.floor(at / hourMs));
  const name = `${timeZone} ${at}`;
  const date = dates.get(name) ??
    new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(at);
  dates.set(name, date);
  return per === "day" ? date : date.slice(0, 7);
}

/** Adds up what the active holds hold in the current window of a limit. */
function heldOf(
  holds: Iterable<ActiveHold>,
  { productSlug, metric, per }: Standing,
  { now, timeZone, key }: { now: number; timeZone: string; key: string | null },
): number {
  let sum = 0n;
  for (const hold of holds) {
    if (hold.expiresAt <= now || (key !== null && hold.key !== key)) continue;
    if (windowOf(per, hold.createdAt, timeZone) !== windowOf(per, now, timeZone)) continue;
    for (const record of hold.records) {
      if ((productSlug ?? record.productSlug) !== record.productSlug) continue;
      if ((metric ?? record.metric) === record.metric) sum += millionths(record.quantity);
    }
  }
  return fromMillionths(sum);
}

onEveryDatabase(
  "limits, plans and time zones that change keep held right while 1,000 holds are active",
  async (test) => {
    const scene = await holdScene(test, { per: "month", quantity: 1_000_000 });
    const { person, operator, apiKey, keyId } = scene;
    const { fullKey: otherKey } = await createTestKey(test, person);
    const random = seededRandom(runSeed);
    const active = new Map<string, ActiveHold>();
    let timeZone = "UTC";
    const hold = async () => {
      const key = random.pick([apiKey, otherKey]);
      const records = Array.from({ length: random.between(1, 2) }, () => ({
        productSlug: random.pick(["tiles", "routes"]),
        metric: random.pick(["requests", "bytes"]),
        quantity: random.between(0, 3_000_000) / 1_000_000,
      }));
      const expiresIn = random.pick([1_800, 43_200, 86_400]);
      const { status, body } = await scene.post("", { records, expiresIn }, key);
      if (status === 429) return;
      assert.equal(status, 201, JSON.stringify(body));
      const { id, createdAt, expiresAt } = body.hold;
      const times = { createdAt: Date.parse(createdAt), expiresAt: Date.parse(expiresAt) };
      active.set(id, { id, key, records, ...times });
    };
    const end = async () => {
      const { id, key, expiresAt, records } = random.pick([...active.values()]);
      active.delete(id);
      const isSettled = random.chance(0.5);
      const { status } =
        await (isSettled
          ? scene.post(`/${id}/settle`, { records }, key)
          : scene.post(`/${id}/release`, {}, key));
      assert.equal(status, isSettled ? 201 : 200, String(expiresAt));
    };
    const check = async (after: string) => {
      const limitsOf = async (key: string): Promise<Standing[]> =>
        (await scene.get("/api/v1/limits", key)).body.limits;
      // The other key has no budget.
      const own = await limitsOf(otherKey);
      const ofAll = new Set(own.map(({ limitId }) => limitId));
      for (const limit of [...own, ...await limitsOf(apiKey)]) {
        const key = ofAll.has(limit.limitId) ? null : apiKey;
        const expected = heldOf(active.values(), limit, { now: test.now(), timeZone, key });
        assert.equal(limit.held, expected, `${after}: ${JSON.stringify(limit)}`);
      }
    };
    const many = async (count: number) => {
      for (let made = 0; made < count; made += 100) await Promise.all(Array.from({ length: 100 }, hold));
    };
    await many(300);
    test.advance(16 * hourMs);
    await many(900);
    test.advance(6 * hourMs);
    assert.ok([...active.values()].filter(({ expiresAt }) => expiresAt > test.now()).length > 500);
    await check("1,000 holds");

    const organization = `PATCH /organizations/${person.organizationId}`;
    const { body: { organization: { planId } } } = await operator(
      `GET /organizations/${person.organizationId}`,
    );
    const hard = (per: string, quantity: number | null, more: object = {}) => ({
      productSlug: null,
      metric: null,
      per,
      quantity,
      mode: "hard",
      ...more,
    });
    const tiles = { productSlug: "tiles" };
    const override = (...limits: object[]) => operator(organization, { overrides: { limits } });
    const zone = async (timezone: string) => {
      timeZone = timezone;
      return await operator(organization, { timezone });
    };
    const budget = async (...limits: object[]) => {
      const options = { method: "PATCH", cookie: person.cookie, json: { budget: limits } };
      const response = await test.send(`/api/portal/api-keys/${keyId}`, options);
      return { status: response.status, body: await response.json() };
    };
    const other = await operator("POST /plans", {
      name: "Other",
      limits: [hard("day", 100_000), hard("hour", 100_000, { metric: "bytes" })],
    });
    const changes: Record<string, () => Promise<{ status: number; body: unknown }>> = {
      "limits are created": () => override(hard("day", 90_000, tiles), hard("total", 90_000)),
      "they are raised": () => override(hard("day", 95_000, tiles), hard("total", 95_000)),
      "they are lowered": () => override(hard("day", 5, tiles), hard("total", 100)),
      "a plan's limit is replaced": () => override(hard("month", 400), hard("total", 90_000)),
      "the time zone is east": () => zone("Pacific/Kiritimati"),
      "one is soft": () => override(hard("day", 5, { mode: "soft" }), hard("total", 100)),
      "one is lifted": () => override(hard("month", null), hard("day", 90_000)),
      "a budget is set": () => budget(hard("day", 10_000), hard("total", 20_000, { metric: "bytes" })),
      "the time zone is west": () => zone("America/Los_Angeles"),
      "a budget is changed": () => budget(hard("day", 20_000), hard("hour", 20_000)),
      "the plan is another": () => operator(organization, { planId: other.body.plan.id }),
      "they are removed": () => override(),
      "the plan is the first": () => operator(organization, { planId }),
      "the plan's limits change": () =>
        operator(`PATCH /plans/${planId}`, { limits: [hard("month", 90_000), hard("day", 80_000, tiles)] }),
      "a budget is removed": () => budget(),
      "the time zone is UTC": () => zone("UTC"),
    };
    for (const [name, change] of Object.entries(changes)) {
      const { status, body } = await change();
      assert.equal(status, 200, `${name}: ${JSON.stringify(body)}`);
      await check(name);
      await Promise.all([hold(), hold(), end(), end(), hold(), end()]);
      await check(`${name}, and holds are made and end`);
      test.advance(random.between(0, 20) * 60_000);
      await check(`${name}, and time passes`);
    }
    // What is left ends, and nothing stays held.
    test.advance(24 * hourMs);
    for (const { id } of [...active.values()].slice(0, 10)) await scene.post(`/${id}/release`);
    await hold();
    await check("all have expired");
    assert.equal((await scene.get("/api/v1/holds?status=active")).body.holds.length <= 1, true);
  },
);
