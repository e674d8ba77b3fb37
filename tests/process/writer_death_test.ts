// Tests the end of the writer under load: nothing is acknowledged that may not be stored, the program ends with status 70 and one
// line, and the next start finds every acknowledged record exactly once.
import assert from "node:assert/strict";
import { replaceModule, writeConfig } from "../support/process/config.ts";
import type { WriterOrder } from "../support/process/dying_writer.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { repeatAll, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { orderFile } from "../support/process/orders.ts";
import { allowVoids } from "../support/operators/operators.ts";
import { isFull } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { httpThreads, isReady, killProgram, type Program, startProgram } from "../support/process/program.ts";
import { faultRandom } from "../support/runner/random.ts";
import {
  checkAllUsage,
  checkNewRecords,
  type Progress,
  storedInFile,
} from "../support/meter/stored_usage.ts";

const dyingWriter = replaceModule({
  importer: "db/engine/writer_worker.ts",
  module: "db/engine/connection.ts",
  replacement: "tests/support/process/dying_writer.ts",
});

const deaths: readonly WriterOrder[] = ["commit", "roll back", "die"];

for (const HTTP_THREADS of isFull ? httpThreads : ["2"]) {
  Deno.test(`HTTP_THREADS=${HTTP_THREADS}: a writer that fails under load ends the program, and each acknowledged record is stored exactly once`, async () => {
    const random = faultRandom("writer_death_test.ts");
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-writer-" });
    const path = `${folder}/data/gatehouse.db`;
    const env = { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS };
    const config = await writeConfig(folder, dyingWriter);
    let program = startProgram({ folder, env, config });
    try {
      await isReady(program);
      const { baseUrl } = program;
      const { apiKeys, keyIds } = await signUpForLoad(baseUrl);
      await allowVoids({ folder, baseUrl, keyIds });
      const ledger = new Ledger({ random, apiKeys });
      const progress: Progress = { seq: 0, seen: new Set() };
      for (const death of deaths) {
        const before = ledger.answered;
        const load = startLoad({ ledger, random, targets: [program.baseUrl], voids: true });
        await poll(() => ledger.answered > before + 100 || ledger.surprises.length > 0);
        await Deno.writeTextFile(`${folder}/${orderFile}`, death);
        await endsWithOneLine(program);
        load.targets.length = 0;
        await load.stop();
        assert.deepEqual(ledger.surprises, []);
        const stored = await storedInFile(path);
        await checkNewRecords(stored, { ledger, progress });
        await stored.close();
        await Deno.remove(`${folder}/${orderFile}`);
        program = startProgram({ folder, env, config });
        await isReady(program);
      }
      await repeatAll(program.baseUrl, ledger);
      await killProgram(program);
      const stored = await storedInFile(path);
      await checkAllUsage(stored, ledger);
      await stored.close();
    } finally {
      await killProgram(program);
      await Deno.remove(folder, { recursive: true });
    }
  });
}

async function endsWithOneLine(program: Program): Promise<void> {
  assert.equal(await program.ended(), 70, program.output());
  const lines = program.output().split("\n").filter((line) => line.includes('"level":"ERROR"'));
  assert.equal(lines.length, 1, program.output());
  assert.match(lines[0] ?? "", /stopping: the data file can no longer be trusted.*thrown by a test/);
}
