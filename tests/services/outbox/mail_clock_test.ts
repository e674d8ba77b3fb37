// The outbox while the clock is set back.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { mailRetryMaxMs } from "../../../domain/limits.ts";
import { deleteOldEvents } from "../../../services/outbox/upkeep.ts";
import { testApp } from "../../support/app/app.ts";
import { poll } from "../../support/runner/poll.ts";

testApp("doesn't delay an email by a day when the clock is set back by a day", async (test) => {
  const { mailWorker } = test.parts;
  const ada = await test.signUp();
  test.advance(-24 * 3_600_000);
  const bob = await test.signUp("Bob");
  // After this many failures, the wait is the longest.
  await test.opened.database.write([
    sql`UPDATE outbox SET due_at = ${test.now() + mailRetryMaxMs} WHERE recipient = ${bob.email}`,
  ]);
  assert.equal(await deleteOldEvents(test.services), false);
  const ended = new AbortController();
  const running = mailWorker.run(ended.signal);
  await poll(async () => (await mailWorker.developmentMails()).length > 0);
  ended.abort();
  await running;
  assert.deepEqual((await mailWorker.developmentMails()).map(({ to }) => to), [ada.email]);
});
