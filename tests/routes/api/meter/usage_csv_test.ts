// Usage as CSV: exact, safe to open in a spreadsheet, and streamed.
import assert from "node:assert/strict";
import { Connection } from "../../../../db/engine/connection.ts";
import { sql } from "../../../../db/engine/database.ts";
import { usageSumRowsMax } from "../../../../domain/limits.ts";
import { assertError, createTestKey, type TestApp, testApp } from "../../../support/app/app.ts";
import { sendJson, signUpAndRecord } from "../../../support/process/journey.ts";
import { manySums } from "../../../support/meter/many_sums.ts";
import { isReady, startProgram } from "../../../support/process/program.ts";
import { repeats } from "../../../support/runner/extent.ts";
import { recordOne, unlimited, voidOne } from "../../../support/meter/usage.ts";

const maxQuantity = Number.MAX_SAFE_INTEGER;

async function csv(test: TestApp, cookie: string, query = ""): Promise<string> {
  const response = await test.send(`/api/portal/usage.csv${query}`, { cookie });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.text();
}

/** Parses CSV (RFC 4180). */
function cellsOf(text: string): string[][] {
  assert.ok(text.endsWith("\r\n"));
  const lines: string[][] = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  while (cell.lastIndex < text.length) {
    const match = cell.exec(text);
    assert.ok(match, "not CSV");
    lines.at(-1)?.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === "\r\n" && cell.lastIndex < text.length) lines.push([]);
  }
  return lines;
}

testApp("the file has a header line, exact decimal numbers and the right headers", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey, id } = await createTestKey(test, person);
  const timestamp = "2026-11-20T10:00:00.000Z";
  for (const quantity of [0.000001, maxQuantity, maxQuantity, 0.1]) {
    await recordOne(test, apiKey, { quantity, timestamp });
  }
  const voided = await recordOne(test, apiKey, { quantity: 5, productSlug: "voided" });
  await voidOne(test, { apiKey, id: voided.id });
  await recordOne(test, apiKey, { quantity: 0, productSlug: "search" });
  const response = await test.send("/api/portal/usage.csv", { cookie: person.cookie });
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type") ?? "", /^text\/csv; ?charset=utf-8\b/);
  assert.equal(
    response.headers.get("content-disposition"),
    'attachment; filename="usage-2026-11-01-2026-12-01.csv"',
  );
  assert.match(response.headers.get("cache-control") ?? "", /\bno-store\b/);
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  assert.equal(
    await response.text(),
    "start,end,metric,sum,count,min,max\r\n" +
      "2026-11-20T00:00:00.000Z,2026-11-21T00:00:00.000Z,requests,18014398509481982.100001,4,0.000001," +
      "9007199254740991\r\n" +
      "2026-11-21T00:00:00.000Z,2026-11-22T00:00:00.000Z,requests,0,1,0,0\r\n",
  );
  const grouped = await csv(
    test,
    person.cookie,
    "?groupBy=apiKey,productSlug&window=month&metric=requests",
  );
  const ofKey = ["2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z", id, "Production"];
  assert.deepEqual(cellsOf(grouped), [
    ["start", "end", "apiKey", "apiKeyName", "productSlug", "sum", "count", "min", "max"],
    [...ofKey, "search", "0", "1", "0", "0"],
    [...ofKey, "tiles", "18014398509481982.100001", "4", "0.000001", "9007199254740991"],
  ]);
  const names = "start,end,metric,sum,count,min,max\r\n";
  assert.equal(await csv(test, person.cookie, "?productSlug=none"), names);
  const stranger = await test.signUp();
  assert.equal(await csv(test, stranger.cookie), names);
});

testApp("a key gets the same file as its organization's members", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  await recordOne(test, apiKey, { quantity: 2.5 });
  await recordOne(test, apiKey, { metric: "bytes", quantity: 7 });
  const query = "?window=total&from=2026-10-01&to=2026-12-01&timezone=Europe/Berlin";
  const response = await test.send(`/api/v1/usage.csv${query}`, { apiKey });
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type") ?? "", /^text\/csv; ?charset=utf-8\b/);
  // The days in the file name are in the time zone.
  assert.equal(
    response.headers.get("content-disposition"),
    'attachment; filename="usage-2026-10-01-2026-12-01.csv"',
  );
  const table = await response.text();
  const ends = ["2026-10-01T00:00:00.000+02:00", "2026-12-01T00:00:00.000+01:00"];
  assert.deepEqual(cellsOf(table), [
    ["start", "end", "metric", "sum", "count", "min", "max"],
    [...ends, "bytes", "7", "1", "7", "7"],
    [...ends, "requests", "2.5", "1", "2.5", "2.5"],
  ]);
  assert.equal(await csv(test, person.cookie, query), table);
  const { fullKey: stranger } = await createTestKey(test, await test.signUp());
  const theirs = await test.send(`/api/v1/usage.csv${query}`, { apiKey: stranger });
  assert.equal((await theirs.text()).split("\r\n").length, 2);
  await assertError(await test.send("/api/v1/usage.csv"), 401, "invalid_api_key");
  await assertError(await test.send("/api/v1/usage.csv", { cookie: person.cookie }), 401, "invalid_api_key");
  await assertError(await test.send("/api/v1/usage.csv?window=year", { apiKey }), 422, "validation_failed");
});

testApp("spreadsheets don't interpret names of keys as formulas", async (test) => {
  const person = await test.signUp();
  const names = [
    `=HYPERLINK("http://x","y")`,
    "+1",
    "-1",
    "@SUM(A1)",
    "a,b",
    `say "hi"`,
    `"`,
    "'quoted'",
    "semi;colon",
    "semi;=1;@2",
    "dash - inside = fine",
    "naïve ☃ 𝄞",
  ];
  // The API rejects these names, but an older version or an operator may have stored them.
  const unlikely = ["\t=1", "\r=1", "two\r\n=lines", "\ntwo"];
  const wanted = new Map<string, string>();
  for (const [n, name] of [...names, ...unlikely].entries()) {
    const key = await createTestKey(test, person, { name: names[n] ?? "Production" });
    if (n >= names.length) {
      await test.opened.database.write([sql`UPDATE api_keys SET name = ${name} WHERE id = ${key.id}`]);
    }
    await recordOne(test, key.fullKey);
    // Also where a spreadsheet in another country begins a cell.
    const guarded = name.replaceAll(/(?<=[;\t\r\n])(?=[=@])/g, "'");
    wanted.set(key.id, /^[=+\-@\t\r]/.test(name) ? `'${guarded}` : guarded);
  }
  const [header, ...lines] = cellsOf(await csv(test, person.cookie, "?groupBy=apiKey"));
  assert.deepEqual(header, ["start", "end", "apiKey", "apiKeyName", "metric", "sum", "count", "min", "max"]);
  assert.deepEqual(new Map(lines.map(([, , id = "", name = ""]) => [id, name])), wanted);

  // What a page downloads begins with a byte-order mark, for Excel.
  const download = (headers: Record<string, string>) =>
    test.send("/api/portal/usage.csv?groupBy=apiKey", { cookie: person.cookie, headers });
  const bytes = await (await download({ "Sec-Fetch-Mode": "cors" })).bytes();
  assert.deepEqual(
    await (await download({ "Sec-Fetch-Mode": "navigate" })).bytes(),
    Uint8Array.of(0xef, 0xbb, 0xbf, ...bytes),
  );
});

testApp("invalid queries get an error instead of a file", async (test) => {
  const person = await test.signUp();
  await recordOne(test, (await createTestKey(test, person)).fullKey);
  const { fullKey: apiKey } = await createTestKey(test, person);
  await assertError(await test.send("/api/portal/usage.csv"), 401, "unauthenticated");
  await assertError(await test.send("/api/portal/usage.csv", { apiKey }), 401, "unauthenticated");
  await assertError(
    await test.send("/api/portal/usage.csv?window=x", { cookie: "access_token=nothing" }),
    401,
    "unauthenticated",
  );
  const wrong: [string, string][] = [
    ["window=year", "window"],
    ["timezone=Mars/Base", "timezone"],
    ["from=yesterday", "from"],
    ["from=2026-11-02&to=2026-11-01", "to"],
    ["groupBy=color", "groupBy"],
    ["format=xlsx", "format"],
  ];
  for (const [query, path] of wrong) {
    const response = await test.send(`/api/portal/usage.csv?${query}`, { cookie: person.cookie });
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
    const { error } = await assertError(response, 422, "validation_failed");
    assert.equal(error.details?.[0]?.path, path, query);
  }
  const long = await test.send("/api/portal/usage.csv?window=hour&from=2026-01-01&to=2026-12-01", {
    cookie: person.cookie,
  });
  await assertError(long, 422, "range_too_long");
});

const from = Date.UTC(2026, 9, 1);
const hoursQuery = (hours: number) =>
  `?window=hour&groupBy=metric&from=2026-10-01T00:00:00Z&to=${
    new Date(from + hours * 3_600_000).toISOString()
  }`;

testApp("JSON has a limit of rows", async (test) => {
  const person = await test.signUp();
  const { fullKey: apiKey, id: keyId } = await createTestKey(test, person);
  const [series, hours] = [1_000, usageSumRowsMax / 1_000 + 1];
  await test.opened.database.write(manySums({ series, hours, keyId, from }));
  const { error } = await assertError(
    await test.send(`/api/v1/usage${hoursQuery(hours)}`, { apiKey }),
    422,
    "range_too_long",
  );
  assert.match(error.message, /100000 sums/);
  const cookie = person.cookie;
  await assertError(
    await test.send(`/api/portal/usage${hoursQuery(hours)}`, { cookie }),
    422,
    "range_too_long",
  );
  // Checking the response against the OpenAPI document takes longer than the report.
  const address = `${test.config.baseUrl.origin}/api/v1/usage${hoursQuery(hours - 1)}`;
  const headers = { authorization: `Bearer ${apiKey}` };
  const most = await (await test.app.fetch(new Request(address, { headers }))).json();
  assert.equal(most.data.length, usageSumRowsMax);
}, unlimited);

testApp("waits for a slow reader, and ends the report when it disconnects", async (test) => {
  const person = await test.signUp();
  const { id: keyId } = await createTestKey(test, person);
  await test.opened.database.write(manySums({ series: 200, hours: 120, keyId, from }));
  const { reports } = test.services;
  const response = await test.send(`/api/portal/usage.csv${hoursQuery(120)}`, { cookie: person.cookie });
  const reader = response.body?.getReader();
  assert.ok(reader);
  for (let n = 0; n < 3; n++) {
    assert.equal((await reader.read()).done, false);
    assert.deepEqual(reports.counts, { running: 0, waiting: 1 });
  }
  const next = reader.read();
  await reader.cancel();
  await next;
  assert.deepEqual(reports.counts, { running: 0, waiting: 0 });
  assert.equal(test.logged(), "");
}, unlimited);

/** The current or peak memory of a process, in MB. */
async function memoryMb(pid: number, which: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(new RegExp(`${which}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
}

Deno.test({
  name:
    "a long file raises the server's memory by at most 200 bytes for each line and doesn't block other requests",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-csv-" });
    // Each thread that handles the other requests has garbage of its own.
    const program = startProgram({ folder, env: { HTTP_THREADS: "1" } });
    try {
      await isReady(program);
      const { baseUrl, pid } = program;
      const { cookie, keyId } = await signUpAndRecord(baseUrl);
      const [series, hours] = [1_000, repeats({ quick: 130, full: 1_000 })];
      const connection = new Connection(`${folder}/data/gatehouse.db`, { readOnly: false });
      for (const statement of manySums({ series, hours, keyId, from })) connection.run(statement);
      connection.close();
      const me = async () => {
        const response = await sendJson(baseUrl, "/api/auth/me", { cookie });
        assert.equal((await response.json()).authenticated, true);
      };
      const read = async (query: string, eachChunk: (text: string) => void) => {
        const response = await fetch(`${baseUrl}/api/portal/usage.csv${query}`, { headers: { cookie } });
        assert.equal(response.status, 200);
        for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) eachChunk(text);
      };
      // Warms up everything first.
      for (let n = 0; n < 100; n++) await me();
      await read(hoursQuery(20), () => {});
      const before = await memoryMb(pid, "VmRSS");
      // Resets the peak: starting from changed source takes more memory than a report.
      await Deno.writeTextFile(`/proc/${pid}/clear_refs`, "5");

      let [lines, answered, isReading] = [0, 0, true];
      let tail = "";
      let part = Promise.withResolvers<void>();
      const reading = read(hoursQuery(hours), (text) => {
        for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
        tail = `${tail}${text}`.slice(-100);
        part.resolve();
        part = Promise.withResolvers();
      }).finally(() => {
        isReading = false;
        part.resolve();
      });
      while (isReading) {
        await me();
        if (lines > 0) answered++;
        await part.promise;
      }
      await reading;
      assert.equal(lines, 1 + series * hours);
      assert.ok(lines > usageSumRowsMax, "JSON has a limit of rows, but CSV has none");
      const [last, end] = [hours - 1, hours].map((n) => new Date(from + n * 3_600_000).toISOString());
      assert.ok(tail.endsWith(`\r\n${last},${end},m000999,5.25,3,0.000001,2\r\n`), tail);
      const most = await memoryMb(pid, "VmHWM");
      const allowed = 20 + 180e-6 * lines;
      assert.ok(most - before <= allowed, `${before.toFixed()} MB before, ${most.toFixed()} MB at the peak`);
      assert.ok(answered >= hours / 4, `${answered} requests were handled meanwhile`);
    } finally {
      program.kill("SIGKILL");
      await program.ended();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
