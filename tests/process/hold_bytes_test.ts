// Clients that disappear at any byte of a request or its response: each hold and settlement happens whole or not at all, and a repeat
// returns the same.
import assert from "node:assert/strict";
import { sql } from "../../db/engine/database.ts";
import { signUpForLoad } from "../support/meter/load.ts";
import { connectTo, requestText } from "../support/network/connection.ts";
import { changeDataFile } from "../support/operators/operators.ts";
import { sendJson } from "../support/process/journey.ts";
import { onServer } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";

const quantities = [3, 4];
const units = 7;
const records = quantities.map((quantity, n) => ({
  productSlug: "tiles",
  metric: n === 0 ? "requests" : "bytes",
  quantity,
}));
/** Requests that are cut while they are sent, and as many while they are answered. */
const cuts = repeats({ quick: 24, full: 120 });

/** Positions from 0 to a length, the first bytes and the last ones among them. */
function positions(length: number): number[] {
  const all = Array.from({ length: cuts }, (_, n) => Math.round(n * length / (cuts - 1)));
  return [...new Set([...all, 1, length - 1])];
}

interface Cut {
  readonly apiKey: string;
  readonly path: string;
  readonly json: unknown;
  /** The last byte that is sent, or read of the response. */
  readonly sent?: number;
  readonly read?: number;
}

/** Sends a request, and closes the connection at a byte. */
async function cut(baseUrl: string, { apiKey, path, json, sent, read }: Cut): Promise<void> {
  const text = textOf(apiKey, path, json);
  if (sent !== undefined) {
    const connection = await connectTo(baseUrl, text.slice(0, sent));
    return connection.close();
  }
  const { hostname, port } = new URL(baseUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(text));
  for (let left = read ?? 0; left > 0;) {
    const got = await connection.read(new Uint8Array(left));
    if (got === null) break;
    left -= got;
  }
  connection.close();
}

function textOf(apiKey: string, path: string, json: unknown): string {
  const body = JSON.stringify(json);
  const headers = {
    authorization: `Bearer ${apiKey}`,
    "content-type": "application/json",
    "content-length": String(body.length),
    connection: "close",
  };
  return requestText("POST", path, { headers, body });
}

Deno.test("a client that disappears at any byte leaves each hold and settlement whole or not made", () =>
  onServer({ env: { API_KEY_REQUESTS_PER_SECOND: "0" } }, async ({ baseUrl, folder }) => {
    const { apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    await changeDataFile(
      folder,
      sql`INSERT INTO usage_limits (id, plan, product_slug, metric, per, quantity_whole, quantity_micro, mode, created_seq, created_at)
      SELECT 'lim_bytes', plan, 'tiles', '', 'total', 1000000, 0, 'hard', c.seq, 1000 * unixepoch()
      FROM organizations CROSS JOIN usage_cursor c LIMIT 1`,
    );
    const send = async (path: string, json?: unknown) => {
      const response = await sendJson(baseUrl, path, { apiKey, ...(json === undefined ? {} : { json }) });
      return { status: response.status, body: await response.json() };
    };
    const standing = async () => {
      const { limits: [{ used, held }] } = (await send("/api/v1/limits")).body;
      return [used, held];
    };
    const list = async (status: string) => {
      const ids: string[] = [];
      for (let cursor = "";;) {
        const { holds, nextCursor } = (await send(`/api/v1/holds?status=${status}&limit=100${cursor}`)).body;
        for (const { id, records: held } of holds) {
          assert.deepEqual(held.map(({ quantity }: { quantity: number }) => quantity), quantities);
          ids.push(id);
        }
        if (nextCursor === null) return ids;
        cursor = `&cursor=${nextCursor}`;
      }
    };
    const inputOf = (n: number) => ({ records, idempotencyKey: `hold-${String(n).padStart(4, "0")}` });
    const first = await send("/api/v1/holds", inputOf(0));
    assert.equal(first.status, 201);
    const settled = await send(`/api/v1/holds/${first.body.hold.id}/settle`, { records });
    assert.equal(settled.status, 201);
    const answerLength = 300 + JSON.stringify(settled.body).length;
    const lengthOf = (path: string, json: unknown) => textOf(apiKey, path, json).length;
    const cutsOf = (length: number) => [
      ...positions(length).map((sent) => ({ sent })),
      ...positions(answerLength).map((read) => ({ read })),
    ];

    const holdCuts = cutsOf(lengthOf("/api/v1/holds", inputOf(1)));
    await Promise.all(
      holdCuts.map((at, n) => cut(baseUrl, { apiKey, path: "/api/v1/holds", json: inputOf(n + 1), ...at })),
    );
    // Requests of clients that have gone may still be in progress.
    await poll(async () => (await standing())[1] === (await list("active")).length * units);
    const made = new Set(await list("active"));
    assert.ok(made.size > cuts / 2);
    const ids: string[] = [];
    for (const n of holdCuts.keys()) {
      const { status, body } = await send("/api/v1/holds", inputOf(n + 1));
      assert.ok(status === 200 || (status === 201 && !made.has(body.hold.id)), `${status}`);
      assert.equal(body.duplicate === true, status === 200);
      ids.push(body.hold.id);
    }
    assert.equal(new Set(ids).size, holdCuts.length);
    assert.deepEqual(await standing(), [units, ids.length * units]);

    const path = (id: string | undefined) => `/api/v1/holds/${id}/settle`;
    const settleCuts = cutsOf(lengthOf(path(ids[0]), { records })).slice(0, ids.length);
    await Promise.all(
      settleCuts.map((at, n) => cut(baseUrl, { apiKey, path: path(ids[n]), json: { records }, ...at })),
    );
    await poll(async () => {
      const [used, held] = await standing();
      const settled = (await list("settled")).length;
      return used === settled * units && held === (ids.length + 1 - settled) * units;
    });
    const ended = new Set(await list("settled"));
    assert.ok(ended.size > cuts / 2);
    for (const n of settleCuts.keys()) {
      const { status, body } = await send(path(ids[n]), { records });
      assert.ok(status === 200 || (status === 201 && !ended.has(ids[n] ?? "")), `${status}`);
      assert.equal(body.usageRecords.length, records.length);
      const again = await send(path(ids[n]), { records });
      assert.deepEqual([again.status, again.body.usageRecords], [200, body.usageRecords]);
    }
    const all = (settleCuts.length + 1) * units;
    assert.deepEqual(await standing(), [all, (ids.length - settleCuts.length) * units]);
    const { data } = (await send("/api/v1/usage?window=total")).body;
    assert.deepEqual(
      data.map(({ sum, count }: { sum: number; count: number }) => [sum, count]).sort(),
      quantities.map((quantity) => [(settleCuts.length + 1) * quantity, settleCuts.length + 1]),
    );
  }));
