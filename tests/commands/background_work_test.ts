// The background work of a server that has nothing to do, and of one that has.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { workInBackground } from "../../commands/serve/background_work.ts";
import { startTestApp } from "../support/app/app.ts";
import { StatementNotes } from "../support/database/row_scans.ts";
import { poll } from "../support/runner/poll.ts";
import {
  addEndpoint,
  addEvents,
  anotherWorker,
  webhookSettings,
  withReceiver,
} from "../support/webhooks/endpoints.ts";

Deno.test("an idle server asks one question for all of its work, and starts what it finds", () =>
  withReceiver(async (receiver) => {
    const notes = new StatementNotes();
    const test = await startTestApp(webhookSettings, { open: () => notes.open() });
    try {
      const { organizationId } = await test.signUp();
      await addEndpoint(test, { organizationId, url: receiver.url });
      const worker = anotherWorker(test);
      const stopping = new AbortController();
      const { signal } = stopping;
      const log = { info: () => {}, warn: () => {} };
      const withheld = test.parts.mailWorker.withheld;
      const working = Promise.all([
        worker.run(signal),
        workInBackground({ ...test.services, webhooks: worker }, {
          log,
          withheld,
          signal,
          dueIntervalMs: 10,
        }),
      ]);
      const isQuestion = (text: string) => text.includes("AS isReadOnly");
      /** Waits for questions. @returns How many, and the other statements since the first that all had been asked by then. */
      const idle = async () => {
        notes.asked.length = 0;
        await poll(() => notes.asked.filter(isQuestion).length > 250);
        return notes.asked.filter((text) => !isQuestion(text));
      };
      notes.isOn = true;
      // What begins with the server ends first.
      await poll(async () => (await idle()).length === 0);
      assert.deepEqual(await idle(), []);
      await addEvents(test, organizationId);
      await poll(() => receiver.received.length === 1);
      await test.opened.database.write([
        sql`INSERT INTO limit_rechecks (organization) SELECT number FROM organizations`,
        sql`INSERT INTO usage_dimensions (product, metric, names, name_1, unfilled_seq) VALUES ('p', 'm', '["r"]', 'r', 1)`,
        sql`INSERT INTO usage_refills (id, organization, limit_id, product_slug, metric, quantity_micros, every, rollover, ends_at,
          created_at, reason, write_at) SELECT 'rfl', number, 'lim', '', '', 1, 'day', 0, 9007199254740991, 0, '', 1 FROM organizations`,
      ]);
      await poll(async () => {
        const [left] = await test.opened.database.read(sql`
          SELECT (SELECT count(*) FROM limit_rechecks) + (SELECT sum(unfilled_seq) FROM usage_dimensions)
            + (SELECT count(*) FROM usage_refills WHERE write_at = 1) AS count`);
        return left?.["count"] === 0;
      });
      stopping.abort();
      await working;
    } finally {
      await test.dispose();
    }
  }));
