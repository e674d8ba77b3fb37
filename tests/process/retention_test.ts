// Retention in the real program: what is too old when it starts is deleted by itself, and the sums stay.
import assert from "node:assert/strict";
import { Connection } from "../../db/connection.ts";
import { readsSum, sendJson, signUpAndRecord } from "../support/journey.ts";
import { poll } from "../support/poll.ts";
import { isReady, startProgram } from "../support/program.ts";

Deno.test("a server deletes records that are too old by itself, and keeps their sums", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-retention-" });
  const first = startProgram({ folder });
  await isReady(first);
  const { fullKey: apiKey } = await signUpAndRecord(first.baseUrl);
  first.kill("SIGTERM");
  assert.equal(await first.ended(), 0);

  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
  const age = { sql: "UPDATE usage_records SET recorded_at = recorded_at - ?", args: [401 * 24 * 3_600_000] };
  assert.equal(
    connection.run({ ...age, sql: `${age.sql} WHERE idempotency_key = 'once'` }).changes,
    1,
  );
  connection.close();

  const second = startProgram({ folder });
  await isReady(second);
  const kept = async () => {
    const answer = await sendJson(second.baseUrl, "/api/v1/usage/records", { apiKey });
    return (await answer.json()).usageRecords.length;
  };
  await poll(async () => await kept() === 1);
  await readsSum(second.baseUrl, { fullKey: apiKey, sum: 1.6 });
  second.kill("SIGTERM");
  assert.equal(await second.ended(), 0);
  await Deno.remove(folder, { recursive: true });
});
