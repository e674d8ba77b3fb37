// Tests retention in the real program: it deletes data that is too old, and keeps the sums.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { assertMonthSum, sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { poll } from "../support/runner/poll.ts";
import { onServer, stop } from "../support/process/scene.ts";

const ageMs = 401 * 24 * 3_600_000;

Deno.test("deletes records and audit entries that are too old, the data of deleted organizations, unfinished sign-ins and old counters of limits, and keeps sums", () =>
  onServer({}, async ({ program: first, path, start }) => {
    const { fullKey: apiKey, cookie } = await signUpAndRecord(first.baseUrl);
    const other = await signUpAndRecord(first.baseUrl, "bob@example.com");
    const { organizationId, user, memberships: [{ name }] } =
      await (await sendJson(first.baseUrl, "/api/auth/me", { cookie: other.cookie })).json();
    const deleted = await sendJson(first.baseUrl, `/api/portal/organizations/${organizationId}`, {
      method: "DELETE",
      cookie: other.cookie,
      json: { name },
    });
    assert.equal(deleted.status, 204);
    await stop(first);

    const connection = new Connection(path, { readOnly: false });
    const change = (sql: string, ...args: (string | number)[]) => connection.run({ sql, args }).changes;
    const count = (table: string) =>
      (connection.first({ sql: `SELECT count(*) AS n FROM ${table}`, args: [] }) as { n: number }).n;
    const own = `(SELECT number FROM organizations WHERE id <> '${organizationId}')`;
    const aged = change(
      `UPDATE usage_records SET recorded_at = recorded_at - ?
       WHERE idempotency_key = 'once' AND organization IN ${own}`,
      ageMs,
    );
    assert.equal(aged, 1);
    const agedEntries = change(
      `UPDATE audit_events SET at = at - ? WHERE action = 'organization.created' AND organization_id <> '${organizationId}'`,
      ageMs,
    );
    assert.equal(agedEntries, 1);
    // Until then, its sums wait for a statement.
    change("UPDATE organizations SET deleted_at = deleted_at - ?", ageMs);
    change(
      "INSERT INTO pending_sign_ins (token_hash, user_id, expires_at, attempts) VALUES ('hash', ?, 1, 0)",
      user.id,
    );
    // Of a minute in 2020, and of a removed limit.
    change(
      `INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro, is_known,
         opened_seq) VALUES (7, 99, 26300000, 0, 0, 0, 1, 0), (8, 99, 0, 0, 0, 0, 1, 0)`,
    );
    change("INSERT INTO usage_limits_removed (number) VALUES (8)");
    change("INSERT INTO timezone_offsets VALUES ('Europe/Berlin', 0, 0)");

    const second = await start();
    const { baseUrl } = second;
    const gone = ["pending_sign_ins", "usage_limit_counters", "usage_limits_removed"];
    const left = ["organizations", "api_keys", "usage_records", "usage_series WHERE organization <> 0"];
    await poll(() =>
      left.every((table) => count(table) === 1) &&
      [...gone, "timezone_offsets WHERE since = 0"].every((table) => count(table) === 0)
    );
    assert.ok(count("timezone_offsets") > 5);
    connection.close();
    const records = async () =>
      (await (await sendJson(baseUrl, "/api/v1/usage/records", { apiKey })).json()).usageRecords.length;
    await poll(async () => await records() === 1);
    const entriesLeft = async () => {
      const { events } = await (await sendJson(baseUrl, "/api/portal/audit", { cookie })).json();
      return events.map(({ action }: { action: string }) => action);
    };
    await poll(async () => !(await entriesLeft()).includes("organization.created"));
    assert.deepEqual((await entriesLeft()).sort(), ["account.created", "api_key.created"]);
    await assertMonthSum(baseUrl, { fullKey: apiKey, sum: 1.6 });
    await stop(second);
    assert.doesNotMatch(first.output() + second.output(), /failed/);
  }));
