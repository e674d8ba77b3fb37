// Grants of a limit per day against a model that is a pure function of the history: random grants, expiries, batches over several days,
// voids, limits and time zones.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { restartLimits, timezoneRows } from "../../../db/meter/usage_limits.ts";
import {
  GrantScene,
  grantSteps,
  historyOf,
  hourMs,
  micros,
  quantities,
} from "../../support/meter/grant_scene.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { WindowGrantModel } from "../../support/meter/window_grant_model.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

/** Zones whose clocks never change. */
const zones = { "UTC": 0, "Asia/Tokyo": 9, "America/Bogota": -5 } as const;
const names = Object.keys(zones) as (keyof typeof zones)[];
const recordStep = fc.record({
  type: fc.constant("record" as const),
  records: fc.array(fc.record({ quantity: quantities, hoursAgo: fc.constantFrom(0, 0, 0, 3, 20, 40) }), {
    minLength: 1,
    maxLength: 4,
  }),
});
const moveStep = fc.record({ type: fc.constant("move" as const), zone: fc.constantFrom(...names) });
const history = historyOf(
  fc.oneof(
    { weight: 8, arbitrary: recordStep },
    { weight: 1, arbitrary: moveStep },
    ...grantSteps({ grantHours: 60, pauseHours: 30 }),
  ),
);
type OwnStep<Step> = Step extends fc.Arbitrary<infer T> ? T : never;

type Scene = GrantScene<WindowGrantModel>;

async function record(
  scene: Scene,
  { records }: OwnStep<typeof recordStep>,
  mode: "hard" | "soft",
): Promise<void> {
  const { model, test } = scene;
  const sent = records.map(({ quantity, hoursAgo }) => ({
    quantity,
    timestamp: test.now() - hoursAgo * hourMs,
  }));
  const ids = await scene.record(sent);
  const added = sent.map(({ quantity, timestamp }) => ({ at: timestamp, micros: micros(quantity) }));
  const start = model.records.length;
  assert.equal(ids !== null, model.record(added, { now: test.now(), isHard: mode === "hard" }));
  const recorded = model.records.slice(start);
  scene.records.push(...recorded.map((record, at) => ({ id: ids?.[at] ?? "", record })));
}

async function move({ test, model, organizationId }: Scene, { zone }: OwnStep<typeof moveStep>) {
  model.hoursAhead = zones[zone];
  await test.opened.database.write([
    ...timezoneRows(zone, test.now()),
    sql`UPDATE organizations SET timezone = ${zone}, ${
      restartLimits(test.now())
    } WHERE id = ${organizationId}`,
  ]);
}

async function checkStanding(scene: Scene): Promise<void> {
  const { test, model } = scene;
  await scene.settled();
  assert.deepEqual(await scene.numbers(), scene.expected(model.used(model.day(test.now()))));
  const grants = await scene.grants();
  assert.deepEqual(grants.map(({ used }) => micros(used)), model.grants.map(({ used }) => used));
}

onEveryDatabase("windows use grants as by a model that is a pure function of the history", async (test) => {
  await runHistories(history, async ({ first, mode, steps }) => {
    const model = new WindowGrantModel(micros(first));
    const scene = await GrantScene.create(test, model, { per: "day", quantity: first, mode });
    for (const step of steps) {
      if (step.type === "record") await record(scene, step, mode);
      else if (step.type === "move") await move(scene, step);
      else await scene.take(step);
      await checkStanding(scene);
    }
    const [sums] = await test.opened.database.read<{ taken: string; used: string }>(sql`
      SELECT CAST(total(micros) AS TEXT) AS taken,
        (SELECT CAST(total(used_micros) AS TEXT) FROM usage_grants) AS used FROM usage_grant_windows`);
    assert.equal(sums?.taken, sums?.used);
  }, { rounds: repeats({ quick: 25, full: isRemote(test) ? 6 : 60 }), test });
});
