// Requests that arrive together share a read of the database. Each still gets its own session, read after it arrived.
import assert from "node:assert/strict";
import { type Database, DatabaseError, sql, type Statement } from "../../../db/engine/database.ts";
import { sessionTokensPerReadMax } from "../../../domain/limits.ts";
import { SessionSearch } from "../../../services/access/session_search.ts";
import { newToken } from "../../../services/access/session_tokens.ts";
import { type TestApp, testApp } from "../../support/app/app.ts";
import { onBothDatabases } from "../../support/meter/usage.ts";
import fc from "../../support/runner/fast_check.ts";
import { joinedPerson, signInAgain } from "../../support/people/people.ts";
import { poll } from "../../support/runner/poll.ts";

const tokenOf = (cookie: string) => cookie.slice(cookie.indexOf("=") + 1);

/** A search that counts its reads. `hold`: keeps the results of reads until the returned function is called. */
function countedSearch({ config, opened: { database }, now }: TestApp) {
  const reads: Statement[] = [];
  let held: Promise<void> | undefined;
  const counted: Database = {
    source: database.source,
    read: (statement) => database.read(statement),
    async readFirst<T>(statement: Statement) {
      reads.push(statement);
      const row = await database.readFirst<T>(statement);
      await held;
      return row;
    },
    write: (batch) => database.write(batch),
    close: () => database.close(),
  };
  const onBackgroundError = (error: unknown) => {
    throw error;
  };
  const search = new SessionSearch({ config, database: counted, clock: now }, { onBackgroundError });
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return () => {
      held = undefined;
      resolve();
    };
  };
  return { search, reads, hold };
}

onBothDatabases("requests that share a read find what each finds alone", async (test) => {
  const { database } = test.opened;
  const [ada, grace, idle] = [await test.signUp("Ada"), await test.signUp("Grace"), await test.signUp()];
  const member = await joinedPerson(test, ada, "MEMBER");
  await database.write([
    sql`UPDATE sessions SET last_seen_at = 0 WHERE user_id = ${idle.userId}`,
    sql`UPDATE users SET email_verified_at = ${test.now()}, name = 'G "H" \\ é' WHERE id = ${grace.userId}`,
  ]);
  const again = await signInAgain(test, ada.email);
  const cookies = [ada.cookie, again, grace.cookie, member.cookie, idle.cookie];
  const tokens = [...cookies.map(tokenOf), newToken(), "", "not a token"];
  const alone = countedSearch(test).search;
  const together = countedSearch(test);
  const requests = fc.array(fc.array(fc.constantFrom(...tokens), { maxLength: 4 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(requests, async (requests) => {
      const expected = [];
      for (const request of requests) expected.push(await alone.find(request));
      together.reads.length = 0;
      assert.deepEqual(
        await Promise.all(requests.map((request) => together.search.find(request))),
        expected,
      );
      assert.ok(together.reads.length <= 1);
    }),
    { numRuns: database.source.kind === "remote" ? 20 : 200 },
  );
  assert.equal((await alone.find([tokenOf(idle.cookie)])).session, null);
  assert.equal((await alone.find([tokenOf(member.cookie)])).session?.organization?.role, "MEMBER");
});

testApp("a request that arrives after a read has begun doesn't share it", async (test) => {
  const token = tokenOf((await test.signUp()).cookie);
  const { search, reads, hold } = countedSearch(test);
  const release = hold();
  const early = search.find([token]);
  await poll(() => reads.length === 1);
  await test.opened.database.write([sql`DELETE FROM sessions`]);
  const late = search.find([token]);
  release();
  assert.notEqual((await early).session, null);
  assert.equal((await late).session, null);
  assert.equal(reads.length, 2);
});

testApp("a read gets a bounded number of tokens", async (test) => {
  const token = tokenOf((await test.signUp()).cookie);
  const { search, reads } = countedSearch(test);
  const requests = Array.from({ length: 2 * sessionTokensPerReadMax + 1 }, () => [token]);
  const found = await Promise.all(requests.map((request) => search.find(request)));
  assert.ok(found.every(({ session }) => session !== null));
  assert.equal(reads.length, 3);
});

testApp("a failed read fails the requests that wait for it, and no later one", async (test) => {
  const token = tokenOf((await test.signUp()).cookie);
  const { config, opened: { database }, now } = test;
  let isDown = true;
  const down: Database = Object.assign(Object.create(null), {
    source: database.source,
    readFirst: (statement: Statement) =>
      isDown ? Promise.reject(new DatabaseError("unavailable", "down")) : database.readFirst(statement),
  });
  const search = new SessionSearch({ config, database: down, clock: now }, { onBackgroundError: () => {} });
  const results = await Promise.allSettled([search.find([token]), search.find([newToken()])]);
  assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected"]);
  isDown = false;
  assert.notEqual((await search.find([token])).session, null);
});
