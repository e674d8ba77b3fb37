// Statements that are closed by the schedule or completed after a crash, and deleted customers in them.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { deletedUsageKeptMs } from "../../../domain/limits.ts";
import type { Context } from "../../../services/context.ts";
import { closeDueStatement } from "../../../services/billing/statement_closing.ts";
import { deleteSomeOfDeletedOrganizations } from "../../../services/people/organization_deletion.ts";
import { createTestKey, type TestApp } from "../../support/app/app.ts";
import { flakyDatabase } from "../../support/database/flaky.ts";
import { asBilling, short } from "../../support/meter/statements.ts";
import { onBothDatabases, onEveryDatabase, recordOne } from "../../support/meter/usage.ts";
import { operatorOf } from "../../support/operators/operator_api.ts";

const day = 24 * 3_600_000;

/** The services of a server with a schedule. */
function scheduled({ services }: TestApp, statementCloseDay: number, billingTimezone = "UTC"): Context {
  return { ...services, config: { ...services.config, statementCloseDay, billingTimezone } };
}

/** @returns A customer with one record of this hour and one of October. */
async function customer(test: TestApp, name: string) {
  const person = await test.signUp(name);
  const { fullKey } = await createTestKey(test, person);
  await recordOne(test, fullKey, { quantity: 2 });
  await recordOne(test, fullKey, { quantity: 3, timestamp: "2026-10-25T00:00:00.000Z" });
  return person;
}

async function deleteOrganization(test: TestApp, { organizationId }: { organizationId: string }) {
  const send = await operatorOf(test);
  assert.equal((await send(`DELETE /organizations/${organizationId}`)).status, 204);
}

async function deleteAll(test: TestApp): Promise<void> {
  for (let steps = 0; await deleteSomeOfDeletedOrganizations(test.services); steps++) assert.ok(steps < 100);
}

async function organizationExists(test: TestApp, id: string): Promise<boolean> {
  return await test.opened.database.readFirst(sql`SELECT 1 FROM organizations WHERE id = ${id}`) !==
    undefined;
}

onEveryDatabase(
  "the schedule closes the month before on its day, once across servers, and catches up",
  async (test) => {
    const { lines, send } = await asBilling(test);
    await customer(test, "Ada");
    assert.equal(await closeDueStatement(scheduled(test, 22)), null);
    assert.equal(await closeDueStatement(test.services), null);
    test.advance(day);
    const closed = await Promise.all([1, 2, 3].map(() => closeDueStatement(scheduled(test, 22))));
    assert.ok(closed.every((statement) => statement === null || statement.period === "2026-10"), "one month");
    test.advance(62 * day);
    for (const period of ["2026-11", "2026-12", undefined]) {
      assert.equal((await closeDueStatement(scheduled(test, 22)))?.period, period);
    }
    const { statements } = (await send("GET /statements")).body;
    const all = await Promise.all(statements.map((one: { id: string }) => lines(one)));
    assert.deepEqual(all.map((some) => some.map(short)), [[], ["tiles/requests 2 1"], [
      "tiles/requests 3 1",
    ]]);
    const entries = await test.opened.database.read(
      sql`SELECT actor_type AS actor FROM audit_events WHERE action = 'statement.closed'`,
    );
    assert.deepEqual(entries, Array(3).fill({ actor: "system" }));
  },
);

onEveryDatabase(
  "a new installation has no month before it existed, unless usage of it arrives",
  async (test) => {
    const { send } = await asBilling(test);
    const months = async () => {
      const { open, next } = (await send("GET /statements")).body;
      return [
        open.map(({ id, period }: { id: string; period: string }) => `${id} ${period}`),
        next.period,
        next.isEnded,
      ];
    };
    const closed = async () => (await closeDueStatement(scheduled(test, 1)))?.period ?? null;
    const onlyNovember = [["open 2026-11"], "2026-11", false];
    assert.deepEqual([await months(), await closed()], [onlyNovember, null], "without usage");
    const person = await test.signUp("Ada");
    const { fullKey } = await createTestKey(test, person);
    await recordOne(test, fullKey, { quantity: 2 });
    assert.deepEqual([await months(), await closed()], [onlyNovember, null], "with usage of this month");
    assert.equal((await send("GET /statements/open")).body.statement.period, "2026-11");
    assert.equal((await send("GET /statements/2026-10")).status, 404);
    const own = await test.send("/api/portal/statements", { cookie: person.cookie });
    assert.deepEqual((await own.json()).open.map(({ period }: { period: string }) => period), ["2026-11"]);

    await recordOne(test, fullKey, { quantity: 3, timestamp: "2026-10-25T00:00:00.000Z" });
    assert.deepEqual(await months(), [["2026-11 2026-11", "open 2026-10"], "2026-10", true]);
    assert.equal(await closed(), "2026-10");
  },
);

onEveryDatabase(
  "the first month to close is that of the first organization, also without usage",
  async (test) => {
    const { send } = await asBilling(test);
    await test.signUp("Ada");
    // The end of the month in UTC, where it is December in Tokyo.
    test.advance(Date.UTC(2026, 10, 30, 16) - test.now());
    assert.equal((await closeDueStatement(scheduled(test, 1, "Asia/Tokyo")))?.period, "2026-11");
    assert.deepEqual((await send("GET /statements/2026-11")).body.lines, []);
  },
);

onBothDatabases(
  "a statement is completed by another server after any write fails or its outcome is lost",
  async (test) => {
    const { lines, send } = await asBilling(test);
    const ada = await customer(test, "Ada");
    const { database } = test.opened;
    let writes = 0;
    const flaky = {
      ...scheduled(test, 1),
      database: flakyDatabase(database, (write) => {
        writes = write;
        return write % 2 === 1 ? "before" : "after";
      }),
    };
    for (let n = 0, isClosed = false; !isClosed; n++) {
      assert.ok(n < 20);
      await closeDueStatement(flaky).catch((error) => assert.match(String(error), /before|after/));
      const response = (await send("GET /statements")).body.statements[0];
      isClosed = response?.status === "closed";
      // Nothing tells of a statement before all of its lines are there.
      const events = await database.read(sql`SELECT 1 FROM events WHERE type = 'statement.closed'`);
      assert.equal(events.length, Number(isClosed));
      if (response === undefined || isClosed) continue;
      const { body } = await send(`GET /statements/${response.id}`);
      assert.deepEqual([body.lines, body.totals], [[], null]);
      assert.equal(
        (await send(`GET /statements/${response.id}.csv`)).body.error.code,
        "statement_not_closed",
      );
    }
    assert.ok(writes >= 6, `${writes} writes`);
    const [statement] = (await send("GET /statements")).body.statements;
    const found = await lines(statement);
    assert.deepEqual(found.map((line) => [line.organizationId, short(line)]), [[
      ada.organizationId,
      "tiles/requests 3 1",
    ]]);
  },
);

onEveryDatabase(
  "a customer who deletes the organization is billed for its last month, and then forgotten",
  async (test) => {
    const { close, lines } = await asBilling(test);
    const ada = await customer(test, "Ada");
    const unused = await test.signUp("Bob");
    await deleteOrganization(test, ada);
    await deleteOrganization(test, unused);
    await deleteAll(test);
    const records = await test.opened.database.read(sql`SELECT 1 FROM usage_records`);
    assert.deepEqual(records, [], "records are deleted immediately");
    assert.equal(await organizationExists(test, unused.organizationId), false);
    const ofAda = async (period: string) =>
      (await lines(await close(period))).map((line) => [line.organizationName, short(line)]);
    assert.deepEqual(await ofAda("2026-10"), [["Ada’s organization", "tiles/requests 3 1"]]);
    await deleteAll(test);
    assert.equal(await organizationExists(test, ada.organizationId), true);
    test.advance(31 * day);
    assert.deepEqual(await ofAda("2026-11"), [["Ada’s organization", "tiles/requests 2 1"]]);
    await deleteAll(test);
    assert.equal(await organizationExists(test, ada.organizationId), false);
    test.advance(31 * day);
    assert.deepEqual(await ofAda("2026-12"), []);
  },
);

onEveryDatabase(
  "without statements, the sums of a deleted organization are kept for 400 days",
  async (test) => {
    const ada = await customer(test, "Ada");
    await deleteOrganization(test, ada);
    await deleteAll(test);
    test.advance(deletedUsageKeptMs - 1);
    await deleteAll(test);
    assert.equal(await organizationExists(test, ada.organizationId), true);
    test.advance(1);
    await deleteAll(test);
    assert.equal(await organizationExists(test, ada.organizationId), false);
  },
);

onEveryDatabase(
  "a record for the next month, made just before its customer was deleted, is billed",
  async (test) => {
    const { close, lines } = await asBilling(test);
    test.advance(Date.parse("2026-11-30T23:57:00Z") - test.now());
    const ada = await test.signUp("Ada");
    const { fullKey } = await createTestKey(test, ada);
    await recordOne(test, fullKey, { quantity: 7, timestamp: "2026-12-01T00:01:00.000Z" });
    await deleteOrganization(test, ada);
    test.advance(31 * day);
    assert.deepEqual(await lines(await close("2026-11")), []);
    await deleteAll(test);
    test.advance(day);
    assert.deepEqual((await lines(await close("2026-12"))).map(short), ["tiles/requests 7 1"]);
    await deleteAll(test);
    assert.equal(await organizationExists(test, ada.organizationId), false);
  },
);
