// Grants against a model that is a pure function of the history: random grants, expiries, records, voids and limits.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { GrantModel } from "../../support/meter/grant_model.ts";
import { GrantScene, grantSteps, historyOf, micros, quantities } from "../../support/meter/grant_scene.ts";
import { runHistories } from "../../support/meter/histories.ts";
import { isRemote, onEveryDatabase } from "../../support/meter/usage.ts";
import { repeats } from "../../support/runner/extent.ts";
import fc from "../../support/runner/fast_check.ts";

const recordStep = fc.record({
  type: fc.constant("record" as const),
  quantities: fc.array(quantities, { minLength: 1, maxLength: 3 }),
  productSlug: fc.constantFrom("tiles", "tiles", "maps"),
});
type RecordStep = typeof recordStep extends fc.Arbitrary<infer T> ? T : never;
const history = historyOf(
  fc.oneof({ weight: 8, arbitrary: recordStep }, ...grantSteps({ grantHours: 6, pauseHours: 4 })),
);

type Scene = GrantScene<GrantModel>;

async function record(scene: Scene, { quantities, productSlug }: RecordStep, mode: "hard" | "soft") {
  const { model, test } = scene;
  const ids = await scene.record(quantities.map((quantity) => ({ quantity, productSlug })));
  if (productSlug !== "tiles") {
    assert.notEqual(ids, null);
    return;
  }
  const amounts = quantities.map(micros);
  assert.equal(ids !== null, model.record(amounts, { now: test.now(), isHard: mode === "hard" }));
  for (const [at, id] of (ids ?? []).entries()) scene.records.push({ id, record: amounts[at] ?? 0n });
}

async function checkStanding(scene: Scene): Promise<void> {
  const { test, model } = scene;
  assert.deepEqual(await scene.numbers(), scene.expected(model.used));
  await scene.settled();
  const grants = await scene.grants();
  assert.deepEqual(grants.map(({ used }) => micros(used)), model.grants.map(({ used }) => used));
  const isOpen = (at: number) => !model.grants[at]?.isVoided && (model.grants[at]?.endsAt ?? 0) > test.now();
  for (const [at, { remaining, quantity, used }] of grants.entries()) {
    assert.equal(micros(remaining), isOpen(at) ? micros(quantity) - micros(used) : 0n);
  }
}

onEveryDatabase("grants are used as by a model that is a pure function of the history", async (test) => {
  await runHistories(history, async ({ first, mode, steps }) => {
    const model = new GrantModel(micros(first));
    const scene = await GrantScene.create(test, model, { per: "total", quantity: first, mode });
    for (const step of steps) {
      await (step.type === "record" ? record(scene, step, mode) : scene.take(step));
      await checkStanding(scene);
    }
    const [account] = await test.opened.database.read<{ taken: string | null; used: string | null }>(
      sql`
            SELECT CAST(sum(taken_whole * 1000000 + taken_micro) AS TEXT) AS taken,
              (SELECT CAST(sum(used_micros) AS TEXT) FROM usage_grants) AS used FROM usage_grant_accounts`,
    );
    assert.equal(account?.taken, account?.used);
  }, { rounds: repeats({ quick: 25, full: isRemote(test) ? 6 : 60 }), test });
});
