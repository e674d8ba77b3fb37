// Kills a server with a continuous backup at random moments, under load and with guests, and restores what was copied.
import assert from "node:assert/strict";
import { Ledger } from "../support/meter/ledger.ts";
import { signUpForLoad, startLoad } from "../support/meter/load.ts";
import { checkAllUsage, storedInFile } from "../support/meter/stored_usage.ts";
import { writeConfig } from "../support/process/config.ts";
import { backupIs, backupKey, segmentsIn, shortTurns } from "../support/process/continuous.ts";
import { createGuestRows, startGuest } from "../support/process/guest.ts";
import { inScene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";

const rounds = repeats({ quick: 3, full: 18 });

Deno.test(
  "after a kill and the loss of the data file, the continuous backup has all that was acknowledged before its last segment began",
  { timeout: faultsTimeoutMs + 30_000 * rounds },
  async () => {
    const target = await Deno.makeTempDir({ prefix: "gatehouse-target-" });
    const env = {
      API_KEY_REQUESTS_PER_SECOND: "0",
      LOG_LEVEL: "warning",
      BACKUP_STREAM_TO: target,
      BACKUP_ENCRYPTION_KEY: backupKey,
    };
    await inScene({ env }, async (scene) => {
      const { folder, path } = scene;
      const random = faultRandom("continuous_kill_test.ts");
      const config = await writeConfig(folder, shortTurns);
      const start = () => scene.start({ config, env: { HTTP_THREADS: random.pick(["1", "2"]) } });
      const { baseUrl } = await start();
      const { apiKeys } = await signUpForLoad(baseUrl);
      createGuestRows(path);
      const ledger = new Ledger({ random, apiKeys });
      let continued = 0;
      let guestRows = 0;
      const lostMs: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const { program } = scene;
        await backupIs(program.baseUrl, "ok");
        const before = segmentsIn(target).at(-1)?.head ?? assert.fail();
        const guest = startGuest(path);
        const load = startLoad({ ledger, random, targets: [program.baseUrl] });
        const times = noteTimes(ledger);
        const answered = ledger.answered;
        await poll(() => ledger.answered > answered + 40 || ledger.surprises.length > 0);
        // At least one segment of this load is at the target.
        await poll(() => (segmentsIn(target).at(-1)?.head.number ?? 0) > before.number + 1);
        await letOthersRun(random.between(0, 1_500));
        program.kill("SIGKILL");
        const killedAt = Date.now();
        load.targets.length = 0;
        await program.ended();
        await load.stop();
        const inserted = await guest();
        times.stop();
        assert.deepEqual(ledger.surprises, []);
        const { head } = segmentsIn(target).at(-1) ?? assert.fail();
        continued += head.chain === before.chain ? 1 : 0;
        lostMs.push(killedAt - head.startedAt);
        const restored = `${folder}/restored${round}.db`;
        const end = await scene.run("restore", "--from", target, restored);
        assert.equal(end.status, 0, end.stderr);
        assert.match(end.stdout, new RegExp(`to segment ${head.number},`));
        if (random.chance(0.5) || round === 0) {
          await forgetLost(restored, { ledger, ackedAt: times.ackedAt, began: head.startedAt });
          for (const suffix of ["", "-wal", "-shm"]) await Deno.remove(path + suffix).catch(() => {});
          await Deno.rename(restored, path);
        } else await checkPart(restored, { ledger, ackedAt: times.ackedAt, began: head.startedAt });
        const stored = await storedInFile(path);
        await checkAllUsage(stored, ledger);
        const [guests] = await stored.read("SELECT count(*) AS count FROM guest_rows");
        assert.ok(Number(guests?.["count"]) <= guestRows + inserted, "rows that no guest inserted");
        guestRows = Number(guests?.["count"]);
        await stored.close();
        await start();
      }
      assert.ok(continued > 0, "no copy was continued");
      // Depends on the machine, so it is only said.
      const text = `milliseconds of a kill that were lost: ${
        lostMs.sort((one, other) => one - other).join(", ")
      }`;
      Deno.stdout.writeSync(new TextEncoder().encode(`continuous_kill_test.ts: ${text}\n`));
    });
    await Deno.remove(target, { recursive: true });
  },
);

/** Notes when each record was acknowledged. */
function noteTimes(ledger: Ledger): { ackedAt: Map<string, number>; stop: () => void } {
  const ackedAt = new Map<string, number>();
  const note = () => {
    const now = Date.now();
    for (const { marker, isAcknowledged } of ledger.records.values()) {
      if (isAcknowledged && !ackedAt.has(marker)) ackedAt.set(marker, now);
    }
  };
  note();
  for (const marker of ackedAt.keys()) ackedAt.set(marker, 0);
  const timer = setInterval(note, 10);
  return {
    ackedAt,
    stop: () => {
      note();
      clearInterval(timer);
    },
  };
}

interface Expected {
  readonly ledger: Ledger;
  readonly ackedAt: ReadonlyMap<string, number>;
  /** When the last segment began. */
  readonly began: number;
}

/** Checks that everything acknowledged before is stored. Returns the markers of all stored records. */
async function checkPart(file: string, { ledger, ackedAt, began }: Expected): Promise<Set<string>> {
  const stored = await storedInFile(file);
  const rows = await stored.read("SELECT idempotency_key AS key, properties FROM usage_records");
  await stored.close();
  const markers = new Set(
    rows.map(({ key, properties }) => String(key ?? JSON.parse(String(properties)).marker)),
  );
  for (const marker of markers) assert.ok(ledger.records.has(marker), "a record that was never sent");
  const lost = [...ledger.records.values()].filter(({ marker, isAcknowledged }) =>
    isAcknowledged && !markers.has(marker) && (ackedAt.get(marker) ?? Infinity) < began
  );
  assert.equal(lost.length, 0, `${lost.length} records are lost, such as ${lost[0]?.marker}`);
  return markers;
}

/** Does the same, and takes back from the ledger what was acknowledged after the last segment began and is lost. */
async function forgetLost(file: string, expected: Expected): Promise<void> {
  const markers = await checkPart(file, expected);
  const { ledger } = expected;
  for (const record of ledger.records.values()) {
    if (markers.has(record.marker)) continue;
    record.isAcknowledged = false;
    record.id = undefined;
  }
  for (const request of ledger.requests) {
    if (request.records.some(({ marker }) => !markers.has(marker))) request.isAcknowledged = false;
  }
  ledger.singles.splice(0, Infinity, ...ledger.singles.filter(({ id }) => id !== undefined));
}
