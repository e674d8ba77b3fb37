// Kills the program at random moments under load, and while it counts usage in another way: every acknowledged record is stored
// exactly once, and every rollup is the sum of its records, as are those by values of properties.
import assert from "node:assert/strict";
import { Ledger } from "../support/meter/ledger.ts";
import { declareCounting } from "../support/meter/counted.ts";
import { signUpForLoad, startLoad } from "../support/meter/load.ts";
import type { Progress } from "../support/meter/stored_usage.ts";
import { allowVoids } from "../support/operators/operators.ts";
import { checkNewInFile, killAndCheck } from "../support/process/ledger_scene.ts";
import { httpThreads, killProgram } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";

const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning", HTTP_THREADS: "2" };
const rounds = repeats({ quick: 2, full: 50 });

Deno.test(
  "after a kill of two and of four HTTP threads under load, restarts with each acknowledged record exactly once and correct rollups",
  { timeout: faultsTimeoutMs },
  () =>
    inScene({ env }, async (scene) => {
      const { folder, path } = scene;
      const random = faultRandom("kill_test.ts");
      let starts = 0;
      // In turn.
      const start = () =>
        scene.start({ env: { HTTP_THREADS: httpThreads[starts++ % httpThreads.length] as string } });
      const { baseUrl } = await start();
      const { organizationId, apiKeys, keyIds } = await signUpForLoad(baseUrl);
      const fullToken = await allowVoids({ folder, baseUrl, keyIds });
      const ledger = new Ledger({ random, apiKeys, operator: { fullToken, target: { organizationId } } });
      await declareCounting({ baseUrl, fullToken, which: 0, isNew: true });
      const progress: Progress = { seq: 0, seen: new Set() };
      for (let round = 0; round < rounds; round++) {
        const { program } = scene;
        const load = startLoad({ ledger, random, targets: [program.baseUrl], voids: true });
        const before = ledger.answered;
        // A server that has just started takes longer for its first response.
        if (random.chance(0.8) || round === 0) {
          await poll(() => ledger.answered > before + 40 || ledger.surprises.length > 0);
        }
        await letOthersRun(random.between(50, 400));
        if (random.chance(0.5)) {
          // Kill it while it fills new sums, and deletes those before.
          const which = random.pick([0, 1] as const);
          await declareCounting({ baseUrl: program.baseUrl, fullToken, which, isNew: false });
        }
        program.kill("SIGKILL");
        load.targets.length = 0;
        await program.ended();
        await load.stop();
        assert.deepEqual(ledger.surprises, []);
        await checkNewInFile(path, { ledger, progress });
        if (random.chance(0.25)) {
          // Kill it again while it starts.
          const starting = scene.begin();
          await letOthersRun(random.between(0, 400));
          await killProgram(starting);
        }
        await start();
      }
      assert(ledger.acknowledged > rounds * 10, "too few records were acknowledged");
      await killAndCheck(scene, ledger);
    }),
);
