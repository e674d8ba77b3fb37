// Limits per value against a model in which the use of a value follows from the records and holds: random limits, users, late records,
// voids, holds, time zones and deleted counters.
import assert from "node:assert/strict";
import { limitWindow } from "../../../domain/meter/limit_window.ts";
import { valueCountersKeptDays } from "../../../domain/meter/value_limit.ts";
import { zonedTime } from "../../../domain/time.ts";
import { deleteOldCounters } from "../../../services/meter/limit_upkeep.ts";
import type { TestApp } from "../../support/app/app.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { ofUser, valueScene } from "../../support/meter/value_limits.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

const hourMs = 3_600_000;
const users = ["a", "b", "c", "(none)"] as const;
const zones = ["UTC", "Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe"];
const pers = ["hour", "day", "month"] as const;
const user = fc.constantFrom(...users);
const quantity = fc.integer({ min: 1, max: 9 });
const limit = fc.record({
  per: fc.constantFrom(...pers),
  quantity: fc.integer({ min: 0, max: 25 }),
  mode: fc.constantFrom("hard" as const, "hard" as const, "soft" as const),
  exception: fc.option(fc.record({ value: user, quantity: fc.option(fc.integer({ min: 0, max: 30 })) })),
});
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      type: fc.constant("record" as const),
      user,
      quantity,
      hoursAgo: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 70 })),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("hold" as const),
      user,
      quantity,
      minutes: fc.integer({ min: 1, max: 200 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("settle" as const), which: fc.nat(), quantity }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("release" as const), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("void" as const), which: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("limits" as const),
      limits: fc.uniqueArray(limit, { selector: ({ per }) => per, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("move" as const), timezone: fc.constantFrom(...zones) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("advance" as const),
      minutes: fc.integer({ min: 1, max: 1_800 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("sweep" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Scene = Awaited<ReturnType<typeof valueScene>>;

interface Limit {
  readonly id: string;
  readonly per: (typeof pers)[number];
  readonly quantity: number;
  readonly mode: string;
  readonly values: readonly { readonly value: string; readonly quantity: number | null }[];
}

/** What counts: `windows` has the window of each limit that counts it. */
interface Counted {
  readonly id: string;
  readonly user: string;
  readonly quantity: number;
  readonly at: number;
  readonly expiresAt?: number;
  readonly windows: Map<string, string>;
}

class Model {
  readonly #test: TestApp;
  limits: readonly Limit[] = [];
  timezone = "UTC";
  records: Counted[] = [];
  holds: Counted[] = [];

  constructor(test: TestApp) {
    this.#test = test;
  }

  windowOf({ per }: Limit, at: number): string {
    return per === "hour"
      ? String(limitWindow(per, this.timezone, at)?.start)
      : zonedTime(at, this.timezone).toString().slice(0, per === "day" ? 10 : 7);
  }

  /** The windows of the limits that count usage at a time. */
  windowsAt(at: number): Map<string, string> {
    const counting = this.limits.filter(({ per }) =>
      per !== "hour" ||
      Number(limitWindow(per, this.timezone, at)?.start) + hourMs + valueCountersKeptDays.hour * 24 * hourMs >
        this.#test.now()
    );
    return new Map(counting.map((limit) => [limit.id, this.windowOf(limit, at)]));
  }

  /** Limits that count for the first time take over active holds. */
  adopt(): void {
    for (const hold of this.holds) {
      for (const limit of this.limits) {
        if (!hold.windows.has(limit.id)) hold.windows.set(limit.id, this.windowOf(limit, hold.at));
      }
    }
  }

  sums(limit: Limit, window: string | undefined, user: string): readonly [used: number, held: number] {
    const sum = (some: readonly Counted[], windowOf: (one: Counted) => string | undefined) =>
      some.filter((one) => one.user === user && windowOf(one) === window)
        .reduce((sum, { quantity }) => sum + quantity, 0);
    const active = this.holds.filter(({ expiresAt = 0 }) => expiresAt > this.#test.now());
    return [
      sum(this.records, ({ windows }) => windows.get(limit.id)),
      // Until a limit takes them over, holds count where they would.
      sum(active, ({ windows, at }) => windows.get(limit.id) ?? this.windowOf(limit, at)),
    ];
  }

  quantityOf(limit: Limit, user: string): number | null {
    const exception = limit.values.find(({ value }) => value === user);
    return exception === undefined ? limit.quantity : exception.quantity;
  }

  /** The ids of the limits into which usage doesn't fit. */
  exceeded(user: string, quantity: number, at: number): string[] {
    const windows = this.windowsAt(at);
    return this.limits.filter((limit) => {
      const [used, held] = this.sums(limit, windows.get(limit.id), user);
      const max = this.quantityOf(limit, user);
      return limit.mode === "hard" && windows.has(limit.id) && max !== null && used + held + quantity > max;
    }).map(({ id }) => id).sort();
  }

  /** The standings of a user now: the limit, what is used and held. */
  standings(user: string): string[] {
    return this.limits.filter((limit) => this.quantityOf(limit, user) !== null)
      .map((limit) => `${limit.id} ${this.sums(limit, this.windowOf(limit, this.#test.now()), user)}`).sort();
  }
}

// deno-lint-ignore no-explicit-any
const standingsOf = (limits: any[]) =>
  limits.filter(({ by }) => by !== undefined)
    .map(({ limitId, used, held }) => `${limitId} ${used},${held}`).sort();
const propertiesOf = (user: string) => user === "(none)" ? {} : ofUser(user);
const chosen = <T>(list: readonly T[], which: number): T | undefined => list[which % list.length];

const steps: {
  [T in Step["type"]]: (scene: Scene, model: Model, step: Step & { type: T }, test: TestApp) => Promise<void>;
} = {
  async record(scene, model, { user, quantity, hoursAgo }, test) {
    model.adopt();
    const at = test.now() - hoursAgo * hourMs;
    const expected = model.exceeded(user, quantity, at);
    const timestamp = hoursAgo === 0 ? {} : { timestamp: new Date(at).toISOString() };
    const { status, body } = await scene.record(quantity, { ...propertiesOf(user), ...timestamp });
    // deno-lint-ignore no-explicit-any
    const exceeded = status === 429 ? body.error.details.map(({ limitId }: any) => limitId).sort() : [];
    assert.deepEqual(exceeded, expected, JSON.stringify(body));
    if (status !== 201) return;
    model.records.push({ id: body.usageRecord.id, user, quantity, at, windows: model.windowsAt(at) });
    assert.deepEqual(standingsOf(body.limits), model.standings(user));
  },
  async hold(scene, model, { user, quantity, minutes }, test) {
    model.adopt();
    const expected = model.exceeded(user, quantity, test.now());
    const records = [{ productSlug: "tiles", metric: "requests", quantity, ...propertiesOf(user) }];
    const { status, body } = await scene.post("", { records, expiresIn: minutes * 60 });
    // deno-lint-ignore no-explicit-any
    const exceeded = status === 429 ? body.error.details.map(({ limitId }: any) => limitId).sort() : [];
    assert.deepEqual(exceeded, expected, JSON.stringify(body));
    if (status !== 201) return;
    const at = test.now();
    const expiresAt = at + minutes * 60_000;
    model.holds.push({ id: body.hold.id, user, quantity, at, expiresAt, windows: model.windowsAt(at) });
    assert.deepEqual(standingsOf(body.limits), model.standings(user));
  },
  async settle(scene, model, { which, quantity }) {
    const hold = chosen(model.holds, which);
    if (hold === undefined) return;
    model.adopt();
    const { user, at } = hold;
    const records = [{ productSlug: "tiles", metric: "requests", quantity, ...propertiesOf(user) }];
    const { status, body } = await scene.post(`/${hold.id}/settle`, { records });
    assert.equal(status, 201, JSON.stringify(body));
    model.holds = model.holds.filter((one) => one !== hold);
    model.records.push({ id: body.usageRecords[0].id, user, quantity, at, windows: model.windowsAt(at) });
  },
  async release(scene, model, { which }) {
    const hold = chosen(model.holds, which);
    if (hold === undefined) return;
    assert.equal((await scene.post(`/${hold.id}/release`)).status, 200);
    model.holds = model.holds.filter((one) => one !== hold);
  },
  async void(scene, model, { which }) {
    const record = chosen(model.records, which);
    if (record === undefined) return;
    await scene.void(record.id);
    model.records = model.records.filter((one) => one !== record);
  },
  async limits(scene, model, { limits }) {
    const set = await scene.setLimits(...limits.map(({ exception, ...limit }) => ({
      metric: "requests",
      by: "user",
      ...limit,
      values: exception === null ? [] : [exception],
    })));
    model.limits = set as unknown as Limit[];
  },
  async move(scene, model, { timezone }) {
    assert.equal((await scene.change({ timezone })).status, 200);
    model.timezone = timezone;
  },
  advance: (_scene, _model, { minutes }, test) => Promise.resolve(test.advance(minutes * 60_000)),
  async sweep(_scene, _model, _step, test) {
    while (await deleteOldCounters(test.services));
  },
};

onEveryDatabase("the use of each value follows from the records, in random histories", async (test) => {
  const scene = await valueScene(test);
  const history = fc.record({
    limits: fc.uniqueArray(limit, { selector: ({ per }) => per, minLength: 1, maxLength: 3 }),
    steps: fc.array(step, { minLength: 10, maxLength: 40 }),
  });
  const rounds = repeats({ quick: isRemote(test) ? 4 : 15, full: isRemote(test) ? 6 : 60 });
  await runHistories(history, async ({ limits, steps: list }) => {
    const model = new Model(test);
    await scene.setLimits();
    await steps.move(scene, model, { type: "move", timezone: "UTC" }, test);
    await steps.limits(scene, model, { type: "limits", limits }, test);
    for (const one of list) {
      const run = steps[one.type] as (scene: Scene, model: Model, step: Step, test: TestApp) => Promise<void>;
      await run(scene, model, one, test);
      for (const user of users) {
        const { body } = await scene.get(`/api/v1/limits?properties.user=${encodeURIComponent(user)}`);
        assert.deepEqual(standingsOf(body.limits), model.standings(user));
      }
    }
    for (const { id } of model.holds) await scene.post(`/${id}/release`);
  }, { rounds, test });
});
