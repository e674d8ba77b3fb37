// `gatehouse move` from a libSQL server that Gatehouse servers still use.
import assert from "node:assert/strict";
import { openRemote } from "../../db/engine/remote.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { countingDeclared } from "../support/meter/counted.ts";
import { repeatAll, signUpForLoad, startLoad } from "../support/meter/load.ts";
import { checkAllUsage, storedInFile } from "../support/meter/stored_usage.ts";
import { grantVoids } from "../support/operators/operators.ts";
import { remoteTest } from "../support/process/remote.ts";
import { endsWith, inScene } from "../support/process/scene.ts";
import { faultRandom, faultsTimeoutMs } from "../support/runner/random.ts";
import { poll } from "../support/runner/poll.ts";

const env = { API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning" };

remoteTest(
  "a move makes the servers of its source stop, and loses nothing that they acknowledged",
  (server) =>
    inScene({ env: { ...env, DATABASE_URL: server.url } }, async (scene) => {
      const random = faultRandom("move_server_test.ts");
      const idle = await scene.start();
      const busy = await scene.start({ env: { HTTP_THREADS: "2" } });
      const { apiKeys } = await signUpForLoad(busy.baseUrl);
      const database = openRemote({ url: server.url, authToken: undefined });
      await database.write([grantVoids, ...countingDeclared]);
      const ledger = new Ledger({ random, apiKeys });
      const load = startLoad({ ledger, random, targets: [busy.baseUrl], voids: true });
      await poll(() => ledger.answered > 100 || ledger.surprises.length > 0);

      // A target that can't be used changes nothing at the source.
      await Deno.writeTextFile(`${scene.folder}/other.txt`, "something else");
      const wrong = await scene.run("move", "--to", `file:${scene.folder}/other.txt`);
      assert.notEqual(wrong.status, 0);
      const before = ledger.answered;
      await poll(() => ledger.answered > before || ledger.surprises.length > 0);

      const target = `${scene.folder}/target.db`;
      const moved = await scene.run("move", "--to", `file:${target}`);
      assert.equal(moved.status, 0, moved.stderr);
      const name = new URL(server.url).host;
      assert.match(moved.stdout, new RegExp(`${name} stays read-only.*gatehouse move --cancel`));
      for (const program of [busy, idle]) {
        await endsWith(program, 78);
        assert.match(program.output(), /stopping: gatehouse move has made this database read-only/);
      }
      await load.stop();
      const stored = await storedInFile(target);
      await checkAllUsage(stored, ledger);
      await stored.close();

      for (const command of ["serve", "migrate", "user"]) {
        const rejected = await scene.run(command, ...(command === "user" ? ["list"] : []));
        assert.deepEqual([rejected.status, rejected.stdout], [78, ""]);
        assert.match(rejected.stderr, /read-only.*gatehouse move --cancel/);
      }
      const checked = await scene.run("check");
      assert.match(checked.stdout, /read-only[^]*gatehouse move --cancel/);
      // The new database has everything, and is not read-only.
      const next = await scene.start({ env: { DATABASE_URL: `file:${target}` } });
      await repeatAll(next.baseUrl, ledger);

      assert.equal((await scene.run("move", "--cancel")).stdout, `Servers can use ${name} again.\n`);
      assert.equal((await scene.run("move", "--cancel")).stdout, `${name} is not read-only.\n`);
      await scene.start();
      await database.close();
    }),
  { timeout: faultsTimeoutMs },
);
