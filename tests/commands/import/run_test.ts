// Imports of usage from files: exact, resumable, and with the line of everything that can't be imported.
import assert from "node:assert/strict";
import { startTestApp } from "../../support/app/app.ts";
import { asOperator } from "../../support/operators/operator_api.ts";
import { onRealPort } from "../../support/app/real_app.ts";
import { importFile, rehearseFile, setExternalId, writeLines } from "../../support/meter/imports.ts";
import { newOperatorToken } from "../../support/operators/operators.ts";
import { newOrganization } from "../../support/people/scene.ts";
import { readLines } from "../../../commands/import/lines.ts";
import { OperatorApi } from "../../../commands/import/operator_api.ts";

const event = (n: number, more: object = {}) => ({
  ...{ identifier: `event-${n}`, event_name: "requests", timestamp: Date.UTC(2026, 10, 1) / 1000 + n },
  payload: { stripe_customer_id: n % 2 === 0 ? "crm/even" : "crm/odd", value: "0.1" },
  ...more,
});
const mapping = { source: "stripe", product: "tiles" } as const;

/** Starts an app with two organizations. */
async function startScene() {
  const test = await startTestApp();
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-import-" });
  for (const externalId of ["crm/even", "crm/odd"]) {
    await setExternalId(test, await newOrganization(test, externalId), externalId);
  }
  const { fullToken: token } = await newOperatorToken(test);
  const sums = async () => {
    const call = asOperator(test, token);
    const { body } = await call("GET /usage?from=2026-10-01&to=2026-12-01&window=total&groupBy=organization");
    // deno-lint-ignore no-explicit-any
    return body.data.map((row: any) => [row.externalId, row.count, row.sum]);
  };
  return {
    ...{ test, token, sums, file: `${folder}/events.ndjson` },
    async [Symbol.asyncDispose]() {
      await test.dispose();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

Deno.test("imports in batches, counts everything as recorded before the second time, and a dry run records nothing", async () => {
  await using scene = await startScene();
  const { test, token, sums, file } = scene;
  await writeLines(file, Array.from({ length: 2_501 }, (_, n) => n === 7 ? "" : event(n)));
  await onRealPort(test, async (url) => {
    const given = { ...mapping, file, url, token };
    const { lines, rejected, faults } = await rehearseFile(test, given);
    assert.deepEqual([rejected, faults, await sums()], [0, [], []]);
    assert.match(lines.join("\n"), /^crm\/even +tiles +requests +1251 +125\.1$/m);
    assert.match(lines.join("\n"), /^crm\/odd +tiles +requests +1249 +124\.9$/m);
    assert.match(
      lines.join("\n"),
      /2,500 records from 2026-11-01T00:00:00\.000Z to 2026-11-01T00:41:40\.000Z/,
    );
    const totals = { offset: (await Deno.stat(file)).size, line: 2_501, invalid: 0, leftOut: 0, faults: [] };
    assert.deepEqual(await importFile(test, given), { ...totals, accepted: 2_500, duplicates: 0 });
    const expected = [["crm/even", 1_251, 125.1], ["crm/odd", 1_249, 124.9]];
    assert.deepEqual((await sums()).sort(), expected);
    assert.deepEqual(await importFile(test, given), { ...totals, accepted: 0, duplicates: 2_500 });
    assert.deepEqual((await sums()).sort(), expected);
    await assert.rejects(Deno.stat(`${file}.progress`), Deno.errors.NotFound);
  });
});

Deno.test("stops at the first line that can't be imported, continues once it is fixed, and skips such lines on request", async () => {
  await using scene = await startScene();
  const { test, token, sums, file } = scene;
  const lines: unknown[] = Array.from({ length: 20 }, (_, n) => event(n));
  const stranger = { payload: { stripe_customer_id: "nobody", value: 1 } };
  lines[5] = event(5, stranger);
  lines[6] = '{"identifier": ';
  lines[12] = event(11, { timestamp: event(12).timestamp });
  lines[13] = `{"identifier": "${"x".repeat(1024 * 1024)}"}`;
  await writeLines(file, lines);
  await onRealPort(test, async (url) => {
    const given = { ...mapping, file, url, token };
    const rehearsed = await rehearseFile(test, given);
    assert.equal(rehearsed.rejected, 1);
    assert.match(rehearsed.lines.at(-1) ?? "", /external id “nobody” \(1 record\)/);
    assert.deepEqual(rehearsed.faults, [
      "line 7: The line is not valid JSON.",
      "line 14: The line is longer than 1 MiB or not UTF-8.",
    ]);
    const stops = (message: RegExp) => assert.rejects(importFile(test, given), { status: 65, message });
    await stops(/^line 6: “externalId”: must be the external id of an organization\./);
    assert.deepEqual((await sums()).sort(), [["crm/even", 3, 0.3], ["crm/odd", 2, 0.2]]);
    // Only what comes after the imported lines may change.
    lines[5] = event(5);
    await writeLines(file, lines);
    await stops(/^line 7: The line is not valid JSON\./);
    lines[6] = event(6);
    await writeLines(file, lines);
    await stops(/^line 13: “idempotencyKey”: was used before/);
    const total = await importFile(test, { ...given, skipsInvalid: true });
    assert.deepEqual([total.accepted, total.duplicates, total.invalid], [18, 0, 2]);
    assert.deepEqual(total.faults.map((fault) => fault.slice(0, 8)).sort(), ["line 13:", "line 14:"]);
    assert.deepEqual((await sums()).sort(), [["crm/even", 9, 0.9], ["crm/odd", 9, 0.9]]);
  });
});

Deno.test("continues after the last request that the server acknowledged, and rejects the progress of another import", async () => {
  await using scene = await startScene();
  const { test, token, sums, file } = scene;
  await writeLines(file, Array.from({ length: 3_000 }, (_, n) => event(n)));
  let requests = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request, info) => {
    requests++;
    if (requests === 3) {
      const error = { code: "unavailable", message: "The database is busy." };
      return Response.json({ error }, { status: 503, headers: { "Retry-After": "0" } });
    }
    const response = await test.app.fetch(request, info);
    if (requests !== 2) return response;
    await response.body?.cancel();
    return new Response("<h1>Bad gateway</h1>", { status: 500 });
  });
  try {
    const given = { ...mapping, file, url: `http://127.0.0.1:${server.addr.port}`, token };
    await assert.rejects(importFile(test, given), { status: 78, message: /status 500 without JSON/ });
    const stored = JSON.parse(await Deno.readTextFile(`${file}.progress`));
    assert.deepEqual([stored.line, stored.accepted, stored.duplicates], [1_000, 1_000, 0]);
    assert.equal((await Deno.stat(`${file}.progress`)).mode! & 0o777, 0o600);
    for (const other of [{ product: "search" }, { quantityProperties: new Map([["", "1"]]) }]) {
      await assert.rejects(importFile(test, { ...given, ...other }), {
        status: 64,
        message: /other options/,
      });
    }
    const text = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, text.replace('"event-999"', '"event-000"'));
    await assert.rejects(importFile(test, given), { status: 64, message: /another file/ });
    await Deno.writeTextFile(file, text);
    assert.equal(requests, 2);
    const { accepted, duplicates } = await importFile(test, given);
    assert.deepEqual([accepted, duplicates, requests], [2_000, 1_000, 5]);
    assert.deepEqual((await sums()).sort(), [["crm/even", 1_500, 150], ["crm/odd", 1_500, 150]]);
  } finally {
    await server.shutdown();
  }
});

Deno.test("follows no redirect, which could send the operator token and the usage to another address", async () => {
  const strayed: string[] = [];
  const listen = (handler: Deno.ServeHandler) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handler);
  const other = listen(({ method, url }) => {
    strayed.push(`${method} ${url}`);
    return Response.json({ accepted: 1, duplicates: 0 }, { status: 201 });
  });
  const location = `http://127.0.0.1:${other.addr.port}/`;
  const server = listen(() => new Response(null, { status: 307, headers: { location } }));
  try {
    const api = new OperatorApi({ url: `http://127.0.0.1:${server.addr.port}`, token: "service_operator_x" });
    for (const body of [undefined, '{"records":[]}']) {
      const message = /status 307 without JSON\. Is this the address of Gatehouse\?/;
      await assert.rejects(api.send("/api/operator/usage", body), { status: 78, message });
    }
    assert.deepEqual(strayed, []);
  } finally {
    await Promise.all([server.shutdown(), other.shutdown()]);
  }
});

Deno.test("reads lines of any chunks with their positions, and never keeps one that is too long", async () => {
  const bytes = new TextEncoder().encode(`a\r\n\n${"é".repeat(600_000)}\nlast é`);
  const broken = new Uint8Array([...bytes.subarray(0, 4), 0xff, 10, ...bytes.subarray(4)]);
  for (const size of [1, 7, 1_000_000, 10_000_000]) {
    const source = size < 100 ? broken.subarray(0, 30) : broken;
    const lines = [];
    for await (const some of readLines(chunksOf(source, size), { offset: 100, line: 5 })) lines.push(...some);
    assert.deepEqual(lines.map(({ number }) => number), lines.map((_, n) => n + 6));
    assert.deepEqual(lines.slice(0, 3).map(({ text }) => text), ["a", "", null]);
    assert.deepEqual(lines.map(({ start }) => start), [100, ...lines.slice(0, -1).map(({ end }) => end)]);
    assert.equal(lines.at(-1)?.end, 100 + source.length);
    if (size >= 100) assert.deepEqual(lines.slice(3).map(({ text }) => text), [null, "last é"]);
  }
});

async function* chunksOf(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

Deno.test("imports properties with tabs and line ends from every system", async () => {
  await using scene = await startScene();
  const { test, token, file } = scene;
  const text = "One\r\n\ttwo";
  const time = new Date(Date.UTC(2026, 10, 1)).toISOString();
  const lines = {
    stripe: event(0, { payload: { stripe_customer_id: "crm/even", value: "1", text } }),
    lago: {
      ...{ transaction_id: "l", external_customer_id: "crm/even", code: "requests", timestamp: time },
      properties: { value: "1", text },
    },
    openmeter: {
      ...{ specversion: "1.0", id: "o", source: "/tiles", type: "requests", subject: "crm/even", time },
      data: { value: "1", text },
    },
    gatehouse: {
      ...{ id: "use_1", productSlug: "tiles", metric: "requests", quantity: 1, timestamp: time },
      ...{ externalId: "crm/even", properties: { text } },
    },
  };
  await onRealPort(test, async (url) => {
    for (const [source, line] of Object.entries(lines)) {
      await writeLines(file, [line]);
      const given = { ...mapping, source: source as keyof typeof lines, file, url, token };
      const { accepted, faults } = await importFile(test, given);
      assert.deepEqual([accepted, faults], [1, []], source);
    }
  });
  const { body } = await asOperator(test, token)("GET /usage/records?from=2026-11-01&to=2026-12-01");
  const kept = body.usageRecords.map(({ properties }: { properties: { text: string } }) => properties.text);
  assert.deepEqual(kept, Array(4).fill(text));
});
