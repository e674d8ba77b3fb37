// Kills the program at random moments under load, and while it counts usage in another way: every acknowledged record is stored
// exactly once, and every rollup is the sum of its records, as are those by values of properties.
import assert from "node:assert/strict";
import { Ledger } from "../support/meter/ledger.ts";
import { declareCounting } from "../support/meter/counted.ts";
import { repeatAll, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { allowVoids } from "../support/operators/operators.ts";
import { poll } from "../support/runner/poll.ts";
import { httpThreads, isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { repeats } from "../support/runner/extent.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";
import {
  checkAllUsage,
  checkNewRecords,
  type Progress,
  storedInFile,
} from "../support/meter/stored_usage.ts";

const rounds = repeats({ quick: 2, full: 50 });

Deno.test(
  "after a kill of two and of four HTTP threads under load, restarts with each acknowledged record exactly once and correct rollups",
  { timeout: faultsTimeoutMs },
  async () => {
    const random = faultRandom("kill_test.ts");
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-kill-" });
    const path = `${folder}/data/gatehouse.db`;
    const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning" };
    let starts = 0;
    const start = async (): Promise<Program> => {
      // In turn.
      const HTTP_THREADS = httpThreads[starts++ % httpThreads.length] as string;
      const program = startProgram({ folder, env: { ...env, HTTP_THREADS } });
      await isReady(program);
      return program;
    };
    let program = await start();
    try {
      const { baseUrl } = program;
      const { organizationId, apiKeys, keyIds } = await signUpForLoad(baseUrl);
      const fullToken = await allowVoids({ folder, baseUrl, keyIds });
      const ledger = new Ledger({ random, apiKeys, operator: { fullToken, target: { organizationId } } });
      await declareCounting({ baseUrl, fullToken, which: 0, isNew: true });
      const progress: Progress = { seq: 0, seen: new Set() };
      for (let round = 0; round < rounds; round++) {
        const load = startLoad({ ledger, random, targets: [program.baseUrl], voids: true });
        const before = ledger.answered;
        // A server that has just started takes longer for its first response.
        if (random.chance(0.8)) await poll(() => ledger.answered > before || ledger.surprises.length > 0);
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
        const stored = await storedInFile(path);
        await checkNewRecords(stored, { ledger, progress });
        await stored.close();
        if (random.chance(0.25)) {
          // Kill it again while it starts.
          const starting = startProgram({ folder, env });
          await letOthersRun(random.between(0, 400));
          await killProgram(starting);
        }
        program = await start();
      }
      assert(ledger.acknowledged > rounds * 20, "too few records were acknowledged");
      for (const again of [false, true]) {
        if (again) {
          program = await start();
          await repeatAll(program.baseUrl, ledger);
        }
        await killProgram(program);
        const stored = await storedInFile(path);
        await checkAllUsage(stored, ledger);
        await stored.close();
      }
    } finally {
      await killProgram(program);
      await Deno.remove(folder, { recursive: true });
    }
  },
);
