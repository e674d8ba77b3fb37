// Mails and a wall clock that is set: none waits for a time that the clock once showed.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { mailRetryMaxMs } from "../../../domain/limits.ts";
import { testApp } from "../../support/app.ts";
import { poll } from "../../support/poll.ts";

testApp("a mail from before the clock was set back by a day does not wait for a day", async (test) => {
  const { mail } = test.services;
  const ada = await test.signUp();
  test.advance(-24 * 3_600_000);
  const bob = await test.signUp("Bob");
  // It failed just now, as often as it takes to wait the longest.
  await test.opened.database.write([
    sql`UPDATE outbox SET due_at = ${test.now() + mailRetryMaxMs} WHERE recipient = ${bob.email}`,
  ]);
  const ended = new AbortController();
  const running = mail.run(ended.signal);
  await poll(() => mail.developmentMails().length > 0);
  ended.abort();
  await running;
  assert.deepEqual(mail.developmentMails().map(({ to }) => to), [ada.email]);
});
