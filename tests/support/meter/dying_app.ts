// An app with a clock of its own, which kills its process when a test says so: before or after a write is committed.
//
//   deno run -A dying_app.ts PLACE NOW
//
// PLACE is a data file or the address of a libSQL server. It prints its address. Headers of a request: `x-now` sets the clock, `x-die` says
// at which write from then on the process dies. `POST /background/NAME` does background work.
import type { MainDatabase } from "../../../db/engine/database.ts";
import { startTestApp } from "../app/app.ts";
import { openTestDatabase } from "../database/database.ts";
import { doWork } from "./background_work.ts";
import { unlimited } from "./usage.ts";

/** Writes left, and whether the last one is committed. */
let deadline: { writes: number; isCommitted: boolean } | undefined;

const dying = (database: MainDatabase): MainDatabase => ({
  source: database.source,
  share: () => database.share(),
  close: () => database.close(),
  read: (statement) => database.read(statement),
  readFirst: (statement) => database.readFirst(statement),
  async write(batch, options) {
    const isLast = deadline !== undefined && --deadline.writes === 0;
    if (isLast && deadline?.isCommitted === false) die();
    const results = await database.write(batch, options);
    if (isLast) die();
    return results;
  },
});

function die(): never {
  Deno.kill(Deno.pid, "SIGKILL");
  for (;;) { /* until the signal arrives */ }
}

const [place = "", startAt] = Deno.args;
const database = dying(await openTestDatabase(place));
const test = await startTestApp(unlimited, {
  open: () => Promise.resolve({ database, place, dispose: () => database.close() }),
});
test.advance(Number(startAt) - test.now());
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
  const { pathname, search } = new URL(request.url);
  const { "x-now": now, "x-die": dies, ...headers } = Object.fromEntries(request.headers);
  test.advance(Number(now) - test.now());
  if (dies !== undefined) deadline = JSON.parse(dies);
  const work = /^\/background\/(.*)/.exec(pathname)?.[1];
  if (work !== undefined) {
    await doWork(test, decodeURIComponent(work));
    return new Response();
  }
  const body = await request.text();
  return await test.send(pathname + search, { method: request.method, headers, ...body !== "" && { body } });
});
await Deno.stdout.write(new TextEncoder().encode(`http://127.0.0.1:${server.addr.port}\n`));
