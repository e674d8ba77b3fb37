// The lock of the data file.
import assert from "node:assert/strict";
import { lockDataFile } from "../../../db/engine/data_file.ts";
import { embeddedTestDatabase } from "../../support/database/database.ts";

Deno.test("lockDataFile() gives the lock to one process at a time", async () => {
  const { place, dispose } = await embeddedTestDatabase();
  const unlock = lockDataFile(place);
  assert(unlock !== null);
  assert.equal(lockDataFile(place), null);
  unlock();
  const again = lockDataFile(place);
  assert(again !== null);
  again();
  await dispose();
});
