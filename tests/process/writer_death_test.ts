// Tests the end of the writer under load: nothing is acknowledged that may not be stored, the program ends with status 70 and one
// line, and the next start finds every acknowledged record exactly once.
import assert from "node:assert/strict";
import { replaceModule, writeConfig } from "../support/process/config.ts";
import type { WriterOrder } from "../support/process/dying_writer.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { signUpForLoad, startLoad } from "../support/meter/load.ts";
import { orderFile } from "../support/process/orders.ts";
import { allowVoids } from "../support/operators/operators.ts";
import { isFull } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { checkNewInFile, killAndCheck } from "../support/process/ledger_scene.ts";
import { httpThreads, type Program } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";
import { faultRandom } from "../support/runner/random.ts";
import type { Progress } from "../support/meter/stored_usage.ts";

const dyingWriter = replaceModule({
  importer: "db/engine/writer_worker.ts",
  module: "db/engine/connection.ts",
  replacement: "tests/support/process/dying_writer.ts",
});

const deaths: readonly WriterOrder[] = ["commit", "roll back", "die"];

for (const HTTP_THREADS of isFull ? httpThreads : ["2"]) {
  const env = { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS };
  Deno.test(`HTTP_THREADS=${HTTP_THREADS}: a writer that fails under load ends the program, and each acknowledged record is stored exactly once`, () =>
    inScene({ env }, async (scene) => {
      const { folder, path } = scene;
      const random = faultRandom("writer_death_test.ts");
      const config = await writeConfig(folder, dyingWriter);
      const { baseUrl } = await scene.start({ config });
      const { apiKeys, keyIds } = await signUpForLoad(baseUrl);
      await allowVoids({ folder, baseUrl, keyIds });
      const ledger = new Ledger({ random, apiKeys });
      const progress: Progress = { seq: 0, seen: new Set() };
      for (const death of deaths) {
        const before = ledger.answered;
        const load = startLoad({ ledger, random, targets: [scene.baseUrl], voids: true });
        await poll(() => ledger.answered > before + 100 || ledger.surprises.length > 0);
        await Deno.writeTextFile(`${folder}/${orderFile}`, death);
        await endsWithOneLine(scene.program);
        load.targets.length = 0;
        await load.stop();
        assert.deepEqual(ledger.surprises, []);
        await checkNewInFile(path, { ledger, progress });
        await Deno.remove(`${folder}/${orderFile}`);
        await scene.start({ config });
      }
      await killAndCheck(scene, ledger);
    }));
}

async function endsWithOneLine(program: Program): Promise<void> {
  assert.equal(await program.ended(), 70, program.output());
  const lines = program.output().split("\n").filter((line) => line.includes('"level":"ERROR"'));
  assert.equal(lines.length, 1, program.output());
  assert.match(lines[0] ?? "", /stopping: the data file can no longer be trusted.*thrown by a test/);
}
