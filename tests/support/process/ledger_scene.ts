// Checks of a server against the ledger of the usage that it got.
import assert from "node:assert/strict";
import type { Ledger } from "../meter/ledger.ts";
import { repeatAll } from "../meter/load.ts";
import { checkAllUsage, checkNewRecords, type Progress, storedInFile } from "../meter/stored_usage.ts";
import { killProgram } from "./program.ts";
import type { Scene } from "./scene.ts";

/** Checks the records that a killed server has stored since the last check. */
export async function checkNewInFile(
  path: string,
  options: { ledger: Ledger; progress: Progress },
): Promise<void> {
  const stored = await storedInFile(path);
  await checkNewRecords(stored, options);
  await stored.close();
}

/** Kills the server, and checks that its file has what was acknowledged, before and after all of it was sent again. */
export async function killAndCheck(scene: Scene, ledger: Ledger): Promise<void> {
  assert.deepEqual(ledger.surprises, []);
  for (const again of [false, true]) {
    if (again) await repeatAll((await scene.start()).baseUrl, ledger);
    await killProgram(scene.program);
    const stored = await storedInFile(scene.path);
    await checkAllUsage(stored, ledger);
    await stored.close();
  }
}

/** Asserts that a session and an API key can read. */
export async function assertReadsWork(
  baseUrl: string,
  { cookie, apiKeys }: { cookie: string; apiKeys: readonly string[] },
): Promise<void> {
  const me = await fetch(`${baseUrl}/api/auth/me`, { headers: { cookie } });
  assert.equal((await me.json()).authenticated, true);
  const headers = { authorization: `Bearer ${apiKeys[0]}` };
  const usage = await fetch(`${baseUrl}/api/v1/usage`, { headers });
  assert.equal(usage.status, 200);
  assert((await usage.json()).data.length > 0);
}
