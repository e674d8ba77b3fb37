// Kills two instances on one libSQL server at random moments under load: every acknowledged record is stored exactly
// once, and every rollup is the sum of its records.
import assert from "node:assert/strict";
import { Ledger } from "../support/meter/ledger.ts";
import { countingDeclared } from "../support/meter/counted.ts";
import { repeatAll, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { grantVoids } from "../support/operators/operators.ts";
import { poll } from "../support/runner/poll.ts";
import { httpThreads } from "../support/process/program.ts";
import { remoteTest } from "../support/process/remote.ts";
import { inScene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";
import {
  checkAllUsage,
  checkNewRecords,
  type Progress,
  storedAtServer,
} from "../support/meter/stored_usage.ts";
import { openServer } from "../support/database/sqld.ts";

const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning" };
const rounds = repeats({ quick: 1, full: 12 });
/**
 * `FAULT_SQLD=1` also kills the libSQL server. It writes before it responds, so a kill loses nothing, but calls fsync
 * only at checkpoints. Power loss isn't tested.
 */
const killsSqld = Deno.env.get("FAULT_SQLD") === "1";

remoteTest(
  "instances with two and four HTTP threads, killed in turn on one libSQL server, keep each acknowledged record exactly once",
  (server) =>
    inScene({ env: { ...env, DATABASE_URL: server.url } }, async (scene) => {
      const random = faultRandom("kill_instances_test.ts");
      let starts = 0;
      // In turn.
      const start = () =>
        scene.start({ env: { HTTP_THREADS: httpThreads[starts++ % httpThreads.length] as string } });
      const programs = await Promise.all([start(), start()]);
      const { apiKeys } = await signUpForLoad(scene.baseUrl);
      const database = openServer(server.url);
      await database.write([grantVoids, ...countingDeclared]);
      await database.close();
      const ledger = new Ledger({ random, apiKeys });
      const progress: Progress = { seq: 0, seen: new Set() };
      const stored = storedAtServer(server.url);
      for (let round = 0; round < rounds; round++) {
        const targets = programs.map(({ baseUrl }) => baseUrl);
        const load = startLoad({ ledger, random, targets, voids: true });
        // The other instance keeps running, and gets the repeats of requests that the killed one didn't finish.
        for (let kills = 0; kills < 2; kills++) {
          const before = ledger.answered;
          await poll(() => ledger.answered > before || ledger.surprises.length > 0);
          await letOthersRun(random.between(50, 400));
          const program = random.pick(programs);
          program.kill("SIGKILL");
          load.targets.splice(load.targets.indexOf(program.baseUrl), 1);
          await program.ended();
          if (killsSqld && random.chance(0.5)) await server.killAndStart();
          programs[programs.indexOf(program)] = await start();
          load.targets.push(scene.baseUrl);
        }
        await load.stop();
        await checkNewRecords(stored, { ledger, progress });
        assert.deepEqual(ledger.surprises, []);
      }
      assert(ledger.acknowledged > rounds * 50, "too few records were acknowledged");
      await checkAllUsage(stored, ledger);
      await repeatAll(scene.baseUrl, ledger);
      await checkAllUsage(stored, ledger);
      await stored.close();
    }),
  { timeout: faultsTimeoutMs },
);
