// gatehouse.py under faults of Gatehouse and the network: nothing is lost or counted twice, and record() never raises.
import assert from "node:assert/strict";
import { poll } from "../support/runner/poll.ts";
import {
  drive,
  type Line,
  type MeterScene,
  newLine,
  python,
  pythonPackage,
  pythonTest,
  sumsOf,
} from "../support/client/python_meter.ts";

const none = { adopted: 0, duplicates: 0, rejected: 0, dropped: 0, damaged: 0, rounded: 0, result: null };
const error = (status: number, retryAfter = "0") =>
  Response.json({ error: {} }, { status, headers: { "Retry-After": retryAfter } });
const shapes = (line: Line) => line.batches.splice(0).map(({ ids, status }) => [ids.length, status]);

/** Records with predictable keys. */
const records = (id: string, count: number, more = "") =>
  `for n in range(${count}): meter.record("tiles", "requests", idempotency_key=f"${id}{n}", timestamp=START${more})`;

async function waitsForGatehouse({ program, key }: MeterScene): Promise<void> {
  const refusals = [
    () => error(503),
    () => error(429, "1"),
    () => error(401, "soon"),
    () => error(404),
    () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1:1/" } }),
    () => new Response("<html>Bad gateway</html>", { status: 502 }),
    () => new Response("<html>Please sign in</html>", { status: 200 }),
    () => Response.json({ accepted: 0 }),
    () => new Response("<html>Bad request</html>", { status: 400 }),
    () => error(500),
  ];
  const line = newLine(program, ({ batches }) => refusals[batches.length]?.() ?? null);
  const meter = drive({ url: line.url, api_key: key, flush_interval: 0.02, timeout: 5 });
  await meter.run(records("a", 3));
  await poll(() => meter.problems.some(({ kind, count }) => kind === "delayed" && count === 3));
  line.open();
  try {
    await poll(() => line.batches.at(-1)?.status === 201);
    const after = await meter.run(records("b", 2) + "\nresult = meter.close()");
    assert.deepEqual(after, { ...none, recorded: 5, waiting: 0, sent: 5, result: true });
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  const expected = [503, 429, 401, 404, 307, 502, 200, 200, 400, 500];
  assert.deepEqual(line.batches.map(({ status }) => status).slice(0, 10), expected);
  const { kind, message } = meter.problems.at(-1) ?? assert.fail();
  assert.equal(kind, "resumed");
  assert.match(message, /sending has resumed$/);
  assert.deepEqual(new Set(line.batches.flatMap(({ ids }) => ids)), new Set(["a0", "a1", "a2", "b0", "b1"]));
  const [, limited, next] = line.batches;
  // A timer may fire a millisecond early by the wall clock.
  assert.ok((next?.at ?? 0) - (limited?.at ?? 0) >= 990, "before Retry-After");
  assert.deepEqual(await sumsOf(program, key), { requests: [5, 5] });
}

async function timesOut({ program, key }: MeterScene): Promise<void> {
  const { promise: never, resolve: end } = Promise.withResolvers<null>();
  let requests = 0;
  const line = newLine(program, async (_line, body) => {
    if (requests++ > 1) return null;
    // The first is recorded, but its response comes too late; the second is never recorded.
    if (requests === 1) {
      const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
      const response = await fetch(`${program.baseUrl}/api/v1/usage/batch`, {
        method: "POST",
        headers,
        body,
      });
      await response.body?.cancel();
    }
    await never;
    return error(503);
  });
  line.open();
  const meter = drive({ url: line.url, api_key: key, flush_interval: 60, timeout: 1.5 });
  try {
    await meter.run(records("a", 8));
    const after = await meter.run("result = meter.flush()");
    assert.deepEqual(after, { ...none, recorded: 8, waiting: 0, sent: 8, duplicates: 8, result: true });
    assert.match(meter.problems[0]?.message ?? "", /timed out/);
    assert.equal(await meter.end(), 0);
  } finally {
    end(null);
    await line.close();
  }
  // Each time-out halves the next batch, which doubles again.
  assert.deepEqual(shapes(line).filter(([, status]) => status === 201), [[2, 201], [2, 201], [4, 201]]);
  assert.deepEqual(await sumsOf(program, key), { requests: [8, 8] });
}

/** Gatehouse responds with 408 if a body takes too long to arrive. */
async function sendsLessAfterASlowBody({ program, key }: MeterScene): Promise<void> {
  const line = newLine(program, ({ batches }) => batches.length === 0 ? error(408) : null);
  line.open();
  const meter = drive({ url: line.url, api_key: key, flush_interval: 60 });
  try {
    const after = await meter.run(`${records("a", 8)}\nresult = meter.flush()`);
    assert.deepEqual(after, { ...none, recorded: 8, waiting: 0, sent: 8, result: true });
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.deepEqual(shapes(line), [[8, 408], [4, 201], [4, 201]]);
  assert.deepEqual(await sumsOf(program, key), { requests: [8, 8] });
}

async function leavesOutBadRecords({ program, key }: MeterScene): Promise<void> {
  const line = newLine(program);
  line.open();
  const meter = drive({ url: line.url, api_key: key, flush_interval: 60 });
  const flush = async (python: string) => {
    const { recorded, sent, rejected, waiting } = await meter.run(`${python}\nmeter.flush()`);
    return { recorded, sent, rejected, waiting };
  };
  const bad = 'meter.record("tiles", "no metric!", idempotency_key="bad")';
  try {
    await meter.run(records("a", 537));
    const first = await flush(`${bad}\n${records("b", 462)}`);
    assert.deepEqual(first, { recorded: 1000, sent: 999, rejected: 1, waiting: 0 });
    assert.deepEqual(shapes(line), [[1000, 422], [999, 201]]);
    assert.equal(meter.problems.length, 1);
    const { kind, count, message, records: reported } = meter.problems[0] ?? assert.fail();
    assert.deepEqual([kind, count, reported[0]?.["idempotencyKey"]], ["rejected", 1, "bad"]);
    assert.match(message, /^Usage: 1 record rejected: metric must be/);
    // Keys that were used for other content.
    const conflict = 'meter.record("tiles", "requests", 7, idempotency_key="a0")';
    assert.equal((await flush(`${conflict}\n${records("c", 1)}`)).rejected, 2);
    assert.deepEqual(shapes(line), [[2, 409], [1, 201]]);
    // A response about a single record names no index.
    assert.deepEqual(await flush(conflict), { recorded: 1003, sent: 1000, rejected: 3, waiting: 0 });
    assert.deepEqual(shapes(line), [[1, 409]]);
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.deepEqual(await sumsOf(program, key), { requests: [1000, 1000] });
}

async function roundsQuantities({ program, key }: MeterScene): Promise<void> {
  const meter = drive({ url: program.baseUrl, api_key: key });
  const quantities = ["0.1 + 0.2", "0.3 - 0.1 - 0.2", "2**53 - 1", "Decimal('1.5')", "1e-6", "True", "-1"];
  const more = ["float('nan')", "float('inf')", "2**53", "'1'", "1e-7", "2.5", "None"];
  for (const [n, quantity] of [...quantities, ...more].entries()) {
    await meter.run(`meter.record("tiles", "m${n}", ${quantity})`);
  }
  const again = await meter.run('meter.record("tiles", "m0", 0.1 + 0.2)\nmeter.close()');
  assert.deepEqual(again, {
    ...none,
    recorded: 15,
    waiting: 0,
    sent: 8,
    rejected: 7,
    rounded: 4,
  });
  const rounded = meter.problems.filter(({ kind }) => kind === "rounded");
  assert.equal(rounded.reduce((sum, { count }) => sum + count, 0), 3, "once for each product and metric");
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await sumsOf(program, key), {
    m0: [0.6, 2],
    m1: [0, 1],
    m2: [Number.MAX_SAFE_INTEGER, 1],
    m3: [1.5, 1],
    m4: [0.000001, 1],
    m11: [0, 1],
    m12: [2.5, 1],
  });
}

async function sendsSmallerBatches({ program, key }: MeterScene): Promise<void> {
  const tooLarge = (body: string) =>
    body.length > 4_000 ? new Response("<html>413</html>", { status: 413 }) : null;
  const line = newLine(program, (_line, body) => tooLarge(body));
  line.open();
  const meter = drive({ url: line.url, api_key: key, flush_interval: 60 });
  try {
    await meter.run(records("a", 60));
    await meter.run(`meter.record("tiles", "m" * 5_000)\n${records("b", 60)}`);
    const after = await meter.run("result = meter.close()");
    assert.deepEqual(after, { ...none, recorded: 121, waiting: 0, sent: 120, rejected: 1, result: true });
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.ok(line.batches.length < 40, `${line.batches.length} requests`);
  assert.deepEqual(await sumsOf(program, key), { requests: [120, 120] });
}

async function respectsBounds({ program, key }: MeterScene): Promise<void> {
  const line = newLine(program);
  line.open();
  const limits = { batch_records_max: 10, batch_bytes_max: 1_000, flush_interval: 60 };
  const meter = drive({ url: line.url, api_key: key, ...limits });
  try {
    // A full batch is sent without waiting for the interval.
    await meter.run(records("a", 10));
    await poll(() => line.batches.length > 0);
    await meter.run(records("b", 7, ', properties={"a": "x" * 200}'));
    await meter.run("meter.close()");
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  for (const { records } of line.batches) assert.ok(JSON.stringify(records).length < 1_010);
  assert.deepEqual(await sumsOf(program, key), { requests: [17, 17] });
}

async function waitsForTheClock({ program, key }: MeterScene): Promise<void> {
  const line = newLine(program);
  line.open();
  const meter = drive({ url: line.url, api_key: key, flush_interval: 0.05 });
  try {
    // The user's own mistake is rejected.
    const future = "datetime.now(timezone.utc) + timedelta(days=1)";
    const mistaken = await meter.run(`meter.record("tiles", "later", timestamp=${future})\nmeter.flush()`);
    assert.equal(mistaken.rejected, 1);
    await meter.run(`gatehouse.PAUSE_MAX_SECONDS = 0.05
real = time.time
time.time = lambda: real() + 86_400
meter.record("tiles", "requests", timestamp=${future})`);
    await poll(() => meter.problems.some(({ message }) => message.includes("clock")));
    const { rejected, waiting } = await meter.run("meter.flush(0.1)");
    assert.deepEqual([rejected, waiting], [1, 1]);
    await meter.kill();
  } finally {
    await line.close();
  }
}

/** Misuse, a full queue and an absent Gatehouse raise nothing, use bounded memory and time, and are counted. */
async function neverRaises({ program, key }: MeterScene): Promise<void> {
  const { url } = newLine(program);
  const meter = drive({ url, api_key: key, waiting_records_max: 5 });
  const misuse = await meter.run(`class Bad:
    def __str__(self): raise RuntimeError("none")
meter.record("tiles", "misused", timestamp="yesterday")
meter.record("tiles", "misused", timestamp=Bad())
meter.record(Bad(), "misused")
meter.record("tiles", "misused", Bad())
meter.record("tiles", "misused", 10**400)
meter.record("tiles", "misused", properties=Bad())
meter.record("tiles", "misused", properties={"a": Bad()})
meter.record("tiles", "\\ud800")
meter.record("tiles", "misused", idempotency_key=1)
meter.record("tiles", "misused", organization_id="org_1")
meter.record("tiles", "m" * 70_000)`);
  assert.deepEqual(misuse, { ...none, recorded: 11, waiting: 0, sent: 0, rejected: 11 });
  const full = await meter.run(records("a", 1_000));
  assert.deepEqual([full.waiting, full.dropped, full.result], [5, 995, null]);
  assert.equal((await meter.run("result = meter.flush(0.05)")).result, false);
  assert.equal((await meter.run("result = meter.sync()")).result, false);
  const closed = await meter.run("result = meter.close(0.3)");
  assert.deepEqual(closed, {
    ...none,
    recorded: 1011,
    waiting: 0,
    sent: 0,
    rejected: 11,
    dropped: 1000,
    result: false,
  });
  assert.equal((await meter.run('meter.record("tiles", "requests")')).dropped, 1001);
  assert.equal(await meter.end(), 0);
  const dropped = meter.problems.filter(({ kind }) => kind === "dropped");
  assert.equal(dropped.reduce((sum, { count }) => sum + count, 0), 1000);
  // There is a report per attempt, not per record.
  assert.ok(meter.problems.length < 20, `${meter.problems.length} reports`);
}

/** The defaults from the environment, and mistakes that must not wait until the first record. */
async function needsAnAddressAndACredential({ program, key }: MeterScene): Promise<void> {
  const env = { GATEHOUSE_URL: program.baseUrl, GATEHOUSE_KEY: key };
  const meter = drive({}, { env });
  await meter.run(`def refused(**options):
    try:
        Meter(**options).close()
    except ValueError as error:
        return str(error)`);
  const urls = ["auth.example.com", "https://me:secret@auth.example.com", "https://auth.example.com/?a=b"];
  const credentials = ['api_key="a", operator_token="b"', 'api_key="a\\nb"'];
  for (const options of [...urls.map((url) => `url="${url}"`), ...credentials]) {
    const { result } = await meter.run(`result = refused(${options})`);
    assert.equal(typeof result, "string", options);
    assert.doesNotMatch(String(result), /a\nb|secret/);
  }
  await meter.run('with Meter() as other: other.record("tiles", "requests")');
  assert.equal(await meter.end(), 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [1, 1] });
}

const promises = {
  "waits while Gatehouse is down or rejects batches, and sends everything once": waitsForGatehouse,
  "sends smaller batches after a time-out, and counts a lost response once": timesOut,
  "sends smaller batches after a body that took too long": sendsLessAfterASlowBody,
  "leaves out invalid records with one more request": leavesOutBadRecords,
  "rounds quantities to six decimal places": roundsQuantities,
  "splits a batch that is too large": sendsSmallerBatches,
  "sends full batches immediately, and none that are larger": respectsBounds,
  "waits while the clock is ahead": waitsForTheClock,
  "never raises in the application": neverRaises,
  "takes its settings from the environment": needsAnAddressAndACredential,
};

pythonTest("gatehouse.py survives faults of Gatehouse and the network", promises);

Deno.test("gatehouse.py has the syntax of Python 3.9", async () => {
  const script = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))";
  const args = ["-c", script, `${pythonPackage}gatehouse.py`];
  const { success, stderr } = await new Deno.Command(python, { args }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
});
