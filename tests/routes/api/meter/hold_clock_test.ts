// Holds while the clock passes midnight, the end of a month, and both changes of the hour: they stay in the windows of their time.
import assert from "node:assert/strict";
import { holdScene } from "../../../support/meter/holds.ts";
import { onEveryDatabase } from "../../../support/meter/usage.ts";
import { runSeed } from "../../../support/runner/extent.ts";
import { seededRandom } from "../../../support/runner/random.ts";

const minuteMs = 60_000;
const timezone = "Europe/Berlin";
const limits = { hour: 10, day: 40, month: 90, total: 500 } as const;
type Per = keyof typeof limits;

const berlin = new Intl.DateTimeFormat("en-CA", { timeZone: timezone, dateStyle: "short" });

/** Names the window of a moment, by the clocks of Berlin. Both hours from 2 to 3 in October are windows of their own. */
const windowOf: Record<Per, (at: number) => string> = {
  hour: (at) => String(Math.floor(at / 3_600_000)),
  day: (at) => berlin.format(at),
  month: (at) => berlin.format(at).slice(0, 7),
  total: () => "",
};

interface ModelHold {
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly quantity: number;
}

onEveryDatabase(
  "holds stay in their windows through expiry, the end of a month and both changes of the hour",
  async (test) => {
    const scene = await holdScene(test, { per: "total", quantity: limits.total });
    const changed = await scene.operator(`PATCH /organizations/${scene.person.organizationId}`, {
      timezone,
      overrides: {
        limits: (["hour", "day", "month"] as const).map((per) => ({
          productSlug: "tiles",
          metric: null,
          per,
          quantity: limits[per],
          mode: "hard",
        })),
      },
    });
    assert.equal(changed.status, 200);
    const random = seededRandom(runSeed);
    const active: ModelHold[] = [];
    /** What was settled, with the time of its hold. */
    const used: { createdAt: number; quantity: number }[] = [];
    const sumIn = (per: Per, of: readonly { createdAt: number; quantity: number }[], at = test.now()) =>
      of.filter(({ createdAt }) => windowOf[per](createdAt) === windowOf[per](at))
        .reduce((sum, { quantity }) => sum + quantity, 0);
    const isActive = ({ expiresAt }: ModelHold) => expiresAt > test.now();
    const isKept = ({ createdAt }: ModelHold) => createdAt > test.now() - 35 * 86_400_000;
    /** Takes one of the newest holds, of which some have expired. */
    const take = () => active.splice(random.between(Math.max(0, active.length - 8), active.length - 1), 1);
    const pers = Object.keys(limits) as Per[];
    const steps = {
      hold: async () => {
        const quantity = random.between(1, 5);
        const expiresIn = random.pick([600, 3_600, 7_200, 86_400]);
        const now = test.now();
        const fits = pers.every((per) =>
          sumIn(per, used) + sumIn(per, active.filter(isActive)) + quantity <= limits[per]
        );
        const { status, body } = await scene.hold(quantity, { expiresIn });
        assert.equal(status, fits ? 201 : 429, JSON.stringify(body));
        if (fits) {
          active.push({ id: body.hold.id, createdAt: now, expiresAt: now + expiresIn * 1000, quantity });
        }
      },
      settle: async () => {
        const [hold] = take();
        if (hold === undefined) return;
        const quantity = random.between(0, hold.quantity);
        const { status, body } = await scene.settle(hold.id, quantity);
        // Also one that has expired, if it is kept.
        assert.equal(status, isKept(hold) ? 201 : 404);
        if (status === 404) return;
        assert.equal(Date.parse(body.usageRecords[0].timestamp), hold.createdAt);
        used.push({ createdAt: hold.createdAt, quantity });
      },
      release: async () => {
        const [hold] = take();
        if (hold === undefined) return;
        assert.equal((await scene.post(`/${hold.id}/release`)).status, isKept(hold) ? 200 : 404);
      },
    };
    const check = async () => {
      const { body } = await scene.get("/api/v1/limits");
      const found = body.limits.map(({ per, used, held }: Record<string, unknown>) => [per, used, held]);
      const expected = (["hour", "day", "month", "total"] as const).map((
        per,
      ) => [per, sumIn(per, used), sumIn(per, active.filter(isActive))]);
      const byPer = (rows: unknown[][]) => rows.toSorted(([a], [b]) => String(a).localeCompare(String(b)));
      assert.deepEqual(byPer(found), byPer(expected), new Date(test.now()).toISOString());
    };
    // In UTC: a day begins at 23:00 in winter, and at 22:00 in summer. The hour changes at 1:00.
    for (
      const [from, hours] of [
        ["2026-11-30T21:00:00Z", 4],
        ["2027-03-27T21:00:00Z", 6],
        ["2027-03-31T20:00:00Z", 4],
        ["2027-10-30T20:00:00Z", 7],
        ["2027-10-31T21:00:00Z", 4],
      ] as const
    ) {
      test.advance(Date.parse(from) - test.now());
      for (let quarter = 0; quarter < 4 * hours; quarter++) {
        await check();
        await steps.hold();
        await steps[random.pick(["hold", "settle", "settle", "release"] as const)]();
        await check();
        // Once also just before and at the full quarter.
        test.advance(15 * minuteMs - 1);
        await check();
        test.advance(1);
      }
    }
    assert.ok(used.length > 10);
  },
);
