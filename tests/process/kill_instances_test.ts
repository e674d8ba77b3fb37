// Kills two instances on one libSQL server at random moments under load: every acknowledged record is stored exactly
// once, and every rollup is the sum of its records.
import assert from "node:assert/strict";
import { openRemote } from "../../db/engine/remote.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { countingDeclared } from "../support/meter/counted.ts";
import { type Load, repeatAll, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { grantVoids } from "../support/operators/operators.ts";
import { poll } from "../support/runner/poll.ts";
import { httpThreads, isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { repeats } from "../support/runner/extent.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";
import { sqldMissing, startSqld } from "../support/database/sqld.ts";
import {
  checkAllUsage,
  checkNewRecords,
  type Progress,
  storedAtServer,
} from "../support/meter/stored_usage.ts";

const rounds = repeats({ quick: 1, full: 12 });
/**
 * `FAULT_SQLD=1` also kills the libSQL server. It writes before it responds, so a kill loses nothing, but calls fsync
 * only at checkpoints. Power loss isn't tested.
 */
const killsSqld = Deno.env.get("FAULT_SQLD") === "1";

Deno.test({
  name:
    "instances with two and four HTTP threads, killed in turn on one libSQL server, keep each acknowledged record exactly once",
  ignore: sqldMissing() !== null,
  timeout: faultsTimeoutMs,
  async fn() {
    const random = faultRandom("kill_instances_test.ts");
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-kill-" });
    const server = await startSqld();
    const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning", DATABASE_URL: server.url };
    let starts = 0;
    const start = async (): Promise<Program> => {
      // In turn.
      const HTTP_THREADS = httpThreads[starts++ % httpThreads.length] as string;
      const program = startProgram({ folder, env: { ...env, HTTP_THREADS } });
      await isReady(program);
      return program;
    };
    const programs: Program[] = [];
    const kill = async (program: Program, load: Load) => {
      program.kill("SIGKILL");
      load.targets.splice(load.targets.indexOf(program.baseUrl), 1);
      programs.splice(programs.indexOf(program), 1);
      await program.ended();
    };
    try {
      programs.push(...await Promise.all([start(), start()]));
      const { apiKeys } = await signUpForLoad((programs[0] as Program).baseUrl);
      const database = openRemote({ url: server.url, authToken: undefined });
      await database.write([grantVoids, ...countingDeclared]);
      await database.close();
      const ledger = new Ledger({ random, apiKeys });
      const progress: Progress = { seq: 0, seen: new Set() };
      const stored = storedAtServer(server.url);
      for (let round = 0; round < rounds; round++) {
        const load = startLoad({
          ledger,
          random,
          targets: programs.map(({ baseUrl }) => baseUrl),
          voids: true,
        });
        // The other instance keeps running, and gets the repeats of requests that the killed one didn't finish.
        for (let kills = 0; kills < 2; kills++) {
          const before = ledger.answered;
          await poll(() => ledger.answered > before || ledger.surprises.length > 0);
          await letOthersRun(random.between(50, 400));
          await kill(random.pick(programs), load);
          if (killsSqld && random.chance(0.5)) await server.killAndStart();
          const program = await start();
          programs.push(program);
          load.targets.push(program.baseUrl);
        }
        await load.stop();
        await checkNewRecords(stored, { ledger, progress });
        assert.deepEqual(ledger.surprises, []);
      }
      assert(ledger.acknowledged > rounds * 50, "too few records were acknowledged");
      await checkAllUsage(stored, ledger);
      await repeatAll((programs[0] as Program).baseUrl, ledger);
      await checkAllUsage(stored, ledger);
      await stored.close();
    } finally {
      for (const program of programs) await killProgram(program);
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
