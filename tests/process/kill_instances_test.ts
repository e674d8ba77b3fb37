// Two instances over one libSQL server, each killed at random moments under load: every acknowledged record is there
// exactly once, and every rollup is the sum over its records.
import assert from "node:assert/strict";
import { Ledger } from "../support/ledger.ts";
import { type Load, repeatAll, signUpForLoad, startLoad } from "../support/load.ts";
import { poll } from "../support/poll.ts";
import { isReady, killProgram, type Program, startProgram } from "../support/program.ts";
import { faultRandom, faultRounds, runOn } from "../support/random.ts";
import { sqldMissing, startSqld } from "../support/sqld.ts";
import { checkAllUsage, checkNewRecords, type Progress, storedAtServer } from "../support/stored_usage.ts";

/** From the start of the process to its first answer. */
const startMsMax = 5_000;
/**
 * `FAULT_SQLD=1` also kills the libSQL server. It writes before it answers, so that a kill loses nothing, but calls
 * fsync at checkpoints only: what it does for a machine that loses power is its own promise, and not tried here.
 */
const killsSqld = Deno.env.get("FAULT_SQLD") === "1";

Deno.test({
  name: "two instances killed in turn over one libSQL server lose and double nothing that they acknowledged",
  ignore: sqldMissing() !== null,
  async fn() {
    const random = faultRandom("kill_instances_test.ts");
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-kill-" });
    const server = await startSqld();
    const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning", DATABASE_URL: server.url };
    const start = async (): Promise<Program> => {
      const startedAt = performance.now();
      const program = startProgram({ folder, env });
      await isReady(program);
      const tookMs = performance.now() - startedAt;
      assert(tookMs < startMsMax, `the start took ${tookMs} ms`);
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
      const ledger = new Ledger({ random, apiKeys });
      const progress: Progress = { seq: 0, seen: new Set() };
      const stored = storedAtServer(server.url);
      for (let round = 0; round < faultRounds(6); round++) {
        const load = startLoad({
          ledger,
          random,
          targets: programs.map(({ baseUrl }) => baseUrl),
          voids: true,
        });
        // Kills come while the other instance goes on, which gets the repeats of what the killed one left open.
        for (let kills = 0; kills < 2; kills++) {
          const before = ledger.answered;
          await poll(() => ledger.answered > before || ledger.surprises.length > 0);
          await runOn(random.between(50, 400));
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
      assert(ledger.acknowledged > faultRounds(6) * 50, "too little was acknowledged to prove anything");
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
