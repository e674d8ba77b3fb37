// Kills a server with a continuous backup at random moments, under load and with guests, and restores what was copied. Guests go on
// while the server is killed and started again.
import assert from "node:assert/strict";
import { unseal } from "../../db/engine/stream/envelope.ts";
import { decodeSegment } from "../../db/engine/stream/segment.ts";
import { listSegments } from "../../db/engine/stream/snapshots.ts";
import { openTarget, type Target } from "../../db/engine/stream/target.ts";
import { Ledger } from "../support/meter/ledger.ts";
import { signUpForLoad, startLoad } from "../support/meter/load.ts";
import { checkAllUsage, storedInFile } from "../support/meter/stored_usage.ts";
import { writeConfig } from "../support/process/config.ts";
import { s3Test } from "../support/network/s3_server.ts";
import { backupIs, backupKey, backupKeys, shortTurns } from "../support/process/continuous.ts";
import { createGuestRows, startGuest } from "../support/process/guest.ts";
import { inScene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";

const rounds = repeats({ quick: 3, full: 18 });
const storeRounds = repeats({ quick: 1, full: 6 });

const promise = (target: string) =>
  `after a kill and the loss of the data file, a ${target} has all that was acknowledged before its last segment began`;
const timeLimit = (rounds: number) => ({ timeout: faultsTimeoutMs + 30_000 * rounds });

Deno.test(promise("folder"), timeLimit(rounds), async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-target-" });
  const target = openTarget({ kind: "folder", folder });
  await killAndRestore({ target, from: folder, rounds });
  await Deno.remove(folder, { recursive: true });
});

s3Test(promise("store"), async ({ target, env }) => {
  await killAndRestore({ target, env, from: env.BACKUP_STREAM_TO, rounds: storeRounds });
}, timeLimit(storeRounds));

async function killAndRestore({ target, from, rounds, env: more = {} }: {
  target: Target;
  /** Its address. */
  from: string;
  rounds: number;
  env?: Readonly<Record<string, string>>;
}): Promise<void> {
  const env = {
    ...{ API_KEY_REQUESTS_PER_SECOND: "0", LOG_LEVEL: "warning" },
    ...{ BACKUP_STREAM_TO: from, BACKUP_ENCRYPTION_KEY: backupKey },
    ...more,
  };
  const newest = async () => {
    const { name } = (await listSegments(target)).at(-1) ?? assert.fail();
    const { bytes } = await target.get(name) ?? assert.fail();
    return decodeSegment(unseal(name, bytes, backupKeys)).head;
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
    const guestRows = new Map<string, number>();
    let guest = startGuest(path, guestOf(0));
    const lostMs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const { program } = scene;
      await backupIs(program.baseUrl, "ok").catch((error) =>
        assert.fail(`${error.message}\n${program.output()}`)
      );
      const before = await newest();
      const load = startLoad({ ledger, random, targets: [program.baseUrl] });
      const times = noteTimes(ledger);
      const answered = ledger.answered;
      await poll(() => ledger.answered > answered + 40 || ledger.surprises.length > 0);
      // At least one segment of this load is at the target.
      await poll(async () => (await newest()).number > before.number + 1);
      await letOthersRun(random.between(0, 1_500));
      program.kill("SIGKILL");
      const killedAt = Date.now();
      load.targets.length = 0;
      await program.ended();
      await load.stop();
      for (const [marker, time] of await guest()) guestRows.set(marker, time);
      times.stop();
      assert.deepEqual(ledger.surprises, []);
      const { chain, number, startedAt: began } = await newest();
      continued += chain === before.chain ? 1 : 0;
      lostMs.push(killedAt - began);
      const restored = `${folder}/restored${round}.db`;
      const end = await scene.run("restore", "--from", from, restored);
      assert.equal(end.status, 0, end.stderr);
      assert.match(end.stdout, new RegExp(`to segment ${number},`));
      const expected = { ledger, guestRows, ackedAt: times.ackedAt, began };
      if (random.chance(0.5) || round === 0) {
        await forgetLost(restored, expected);
        for (const suffix of ["", "-wal", "-shm"]) await Deno.remove(path + suffix).catch(() => {});
        await Deno.rename(restored, path);
      } else await checkPart(restored, expected);
      const stored = await storedInFile(path);
      await checkAllUsage(stored, ledger);
      await stored.close();
      assert.deepEqual(await guestMarkersIn(path), new Set(guestRows.keys()));
      guest = startGuest(path, guestOf(round + 1));
      await start();
    }
    await guest();
    assert.ok(continued > 0, "no copy was continued");
    // Depends on the machine, so it is only said.
    const text = `milliseconds of kills with ${from} that were lost: ${
      lostMs.sort((one, other) => one - other).join(", ")
    }`;
    Deno.stdout.writeSync(new TextEncoder().encode(`continuous_kill_test.ts: ${text}\n`));
  });
}

/** In turn, guests open the file for each commit, and stay. */
function guestOf(round: number): { opens: "once" | "each"; pauseMs: number } {
  return { opens: round % 2 === 0 ? "each" : "once", pauseMs: 20 };
}

async function guestMarkersIn(file: string): Promise<Set<string>> {
  const stored = await storedInFile(file);
  const rows = await stored.read("SELECT text FROM guest_rows");
  await stored.close();
  return new Set(rows.map(({ text }) => String(text).replaceAll("x", "")));
}

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
  /** When each was committed, by marker. */
  readonly guestRows: Map<string, number>;
  readonly ackedAt: ReadonlyMap<string, number>;
  /** When the last segment began. */
  readonly began: number;
}

/** Checks that everything acknowledged before is stored. Returns the markers of all stored records. */
async function checkPart(
  file: string,
  { ledger, guestRows, ackedAt, began }: Expected,
): Promise<Set<string>> {
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
  const guests = await guestMarkersIn(file);
  for (const marker of guests) assert.ok(guestRows.has(marker), "a row that no guest inserted");
  for (const [marker, time] of guestRows) {
    assert.ok(guests.has(marker) || time >= began, "a guest's row is lost");
  }
  return markers;
}

/** Does the same, and takes back from the ledger what was acknowledged after the last segment began and is lost. */
async function forgetLost(file: string, expected: Expected): Promise<void> {
  const markers = await checkPart(file, expected);
  const { ledger, guestRows } = expected;
  const guests = await guestMarkersIn(file);
  for (const marker of guestRows.keys()) if (!guests.has(marker)) guestRows.delete(marker);
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
