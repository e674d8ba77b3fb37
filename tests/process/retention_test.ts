// Tests retention in the real program: it deletes data that is too old, and keeps the sums.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { assertMonthSum, sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { isReady, startProgram } from "../support/process/program.ts";

Deno.test("deletes records and audit entries that are too old, and keeps sums", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-retention-" });
  const first = startProgram({ folder, env: { HTTP_THREADS: "1" } });
  await isReady(first);
  const { fullKey: apiKey, cookie } = await signUpAndRecord(first.baseUrl);
  first.kill("SIGTERM");
  assert.equal(await first.ended(), 0);

  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
  const age = { sql: "UPDATE usage_records SET recorded_at = recorded_at - ?", args: [401 * 24 * 3_600_000] };
  assert.equal(
    connection.run({ ...age, sql: `${age.sql} WHERE idempotency_key = 'once'` }).changes,
    1,
  );
  const { sql } = age;
  const entries = sql.replace("usage_records", "audit_events").replaceAll("recorded_at", "at");
  assert.equal(
    connection.run({ ...age, sql: `${entries} WHERE action = 'organization.created'` }).changes,
    1,
  );
  connection.close();

  const second = startProgram({ folder, env: { HTTP_THREADS: "1" } });
  await isReady(second);
  const kept = async () => {
    const response = await sendJson(second.baseUrl, "/api/v1/usage/records", { apiKey });
    return (await response.json()).usageRecords.length;
  };
  await poll(async () => await kept() === 1);
  const entriesLeft = async () => {
    const { events } = await (await sendJson(second.baseUrl, "/api/portal/audit", { cookie })).json();
    return events.map(({ action }: { action: string }) => action);
  };
  await poll(async () => !(await entriesLeft()).includes("organization.created"));
  assert.deepEqual((await entriesLeft()).sort(), ["account.created", "api_key.created"]);
  await assertMonthSum(second.baseUrl, { fullKey: apiKey, sum: 1.6 });
  second.kill("SIGTERM");
  assert.equal(await second.ended(), 0);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("deletes the data of deleted organizations, unfinished sign-ins and old counters of limits", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-retention-" });
  const first = startProgram({ folder, env: { HTTP_THREADS: "1" } });
  await isReady(first);
  const { cookie } = await signUpAndRecord(first.baseUrl);
  const { organizationId, user, memberships: [{ name }] } =
    await (await sendJson(first.baseUrl, "/api/auth/me", { cookie })).json();
  const path = `/api/portal/organizations/${organizationId}`;
  const deleted = await sendJson(first.baseUrl, path, { method: "DELETE", cookie, json: { name } });
  assert.equal(deleted.status, 204);
  first.kill("SIGTERM");
  assert.equal(await first.ended(), 0);

  const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
  // Until then, its sums wait for a statement.
  const deletedLongAgo = "UPDATE organizations SET deleted_at = deleted_at - ?";
  connection.run({ sql: deletedLongAgo, args: [401 * 24 * 3_600_000] });
  const pending =
    "INSERT INTO pending_sign_ins (token_hash, user_id, expires_at, attempts) VALUES ('hash', ?, 1, 0)";
  connection.run({ sql: pending, args: [user.id] });
  // Of a minute in 2020, and of a removed limit.
  const counters =
    "INSERT INTO usage_limit_counters VALUES (7, 99, 26300000, 0, 0, 0, 1, 0, NULL), (8, 99, 0, 0, 0, 0, 1, 0, NULL)";
  connection.run({ sql: counters, args: [] });
  connection.run({ sql: "INSERT INTO usage_limits_removed (number) VALUES (8)", args: [] });
  connection.run({ sql: "INSERT INTO timezone_offsets VALUES ('Europe/Berlin', 0, 0)", args: [] });
  const second = startProgram({ folder, env: { HTTP_THREADS: "1" } });
  await isReady(second);
  const count = (table: string) =>
    connection.first({ sql: `SELECT count(*) AS n FROM ${table}`, args: [] }) as { n: number };
  const series = "usage_series WHERE organization <> 0";
  const limits = ["usage_limit_counters", "usage_limits_removed", "timezone_offsets WHERE since = 0"];
  const tables = ["organizations", "api_keys", "usage_records", series, "pending_sign_ins", ...limits];
  await poll(() => tables.every((table) => count(table).n === 0));
  assert.ok(count("timezone_offsets").n > 5);
  connection.close();
  second.kill("SIGTERM");
  assert.equal(await second.ended(), 0);
  assert.doesNotMatch(first.output() + second.output(), /failed/);
  await Deno.remove(folder, { recursive: true });
});
