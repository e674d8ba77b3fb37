// Commands that commit while a server checkpoints all the time: nothing acknowledged is lost on either side (decision 64).
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { signUpForLoad, startLoad } from "../support/meter/load.ts";
import { checkAllUsage, storedInFile } from "../support/meter/stored_usage.ts";
import { allowVoids } from "../support/operators/operators.ts";
import { replaceModule, writeConfig } from "../support/process/config.ts";
import { createGuestRows, startGuest } from "../support/process/guest.ts";
import { killProgram } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";
import { runCommand } from "../support/process/command.ts";
import { repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";

const shortCheckpoints = replaceModule({
  importer: "db/engine/writer_worker.ts",
  module: "db/engine/connection.ts",
  replacement: "tests/support/process/short_checkpoints.ts",
});
const seconds = repeats({ quick: 2, full: 10 });

/** Creates accounts with the real command, one after the other. @returns Stops, and returns their number. */
function startCommands(folder: string): () => Promise<number> {
  let isRunning = true;
  const created = (async () => {
    let count = 0;
    for (; isRunning; count++) {
      const end = await runCommand(
        { folder },
        "user",
        "create",
        `guest${count}@example.com`,
        "--name",
        "Guest",
      );
      assert.equal(end.status, 0, end.stderr);
    }
    return count;
  })();
  return async () => {
    isRunning = false;
    return await created;
  };
}

Deno.test(
  "commits of a server that checkpoints all the time, and of commands beside it, are all stored",
  { timeout: faultsTimeoutMs + 1000 * seconds },
  () =>
    inScene({ env: { API_KEY_REQUESTS_PER_SECOND: "0", HTTP_THREADS: "2" } }, async (scene) => {
      const { folder, path } = scene;
      const random = faultRandom("guest_commits_test.ts");
      const { baseUrl } = await scene.start({ config: await writeConfig(folder, shortCheckpoints) });
      const { apiKeys, keyIds } = await signUpForLoad(baseUrl);
      await allowVoids({ folder, baseUrl, keyIds });
      createGuestRows(path);
      const ledger = new Ledger({ random, apiKeys });
      const guests = [startGuest(path), startGuest(path)];
      const commands = startCommands(folder);
      const load = startLoad({ ledger, random, targets: [baseUrl], voids: true });
      await letOthersRun(1000 * seconds);
      await poll(() => ledger.acknowledged > 100 && guestRows(path) > 100);
      await load.stop();
      const inserted = await Promise.all(guests.map((end) => end()));
      const created = await commands();
      await killProgram(scene.program);
      const stored = await storedInFile(path);
      await checkAllUsage(stored, ledger);
      const [counts] = await stored.read(
        `SELECT (SELECT count(text) FROM guest_rows) AS guest_rows,
           (SELECT count(*) FROM users WHERE email LIKE 'guest%') AS accounts`,
      );
      const sum = inserted.reduce((sum, { size }) => sum + size, 0);
      assert.deepEqual({ ...counts }, { guest_rows: sum, accounts: created });
      assert.ok(created > 0, "no account was created");
      await stored.close();
    }),
);

function guestRows(path: string): number {
  const connection = new Connection(path, { readOnly: true, isGuest: true });
  try {
    const counted = connection.first({ sql: "SELECT count(*) AS count FROM guest_rows", args: [] });
    return (counted as { count: number }).count;
  } finally {
    connection.close();
  }
}
