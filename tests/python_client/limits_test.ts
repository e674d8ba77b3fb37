// gatehouse.py and hard limits: exactly what doesn't fit is rejected.
import assert from "node:assert/strict";
import { sendJson } from "../support/process/journey.ts";
import {
  drive,
  type MeterScene,
  newKey,
  newLine,
  pythonTest,
  sumsOf,
} from "../support/client/python_meter.ts";

/** Records with predictable keys. */
const records = (id: string, count: number) =>
  `for n in range(${count}): meter.record("tiles", "requests", idempotency_key=f"${id}{n}", timestamp=START)`;

/** Sets a hard limit for the organization of a key. @returns The ids of both. */
async function limit(
  { program, token, key }: MeterScene,
  quantity: number,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<{ organizationId: string; apiKeyId: string }> {
  const verified = await sendJson(program.baseUrl, "/api/v1/keys/verify", { apiKey: token, json: { key } });
  const { organization, apiKey } = await verified.json();
  const limits = [{ productSlug: "tiles", metric: "requests", per: "total", mode: "hard", quantity }];
  const changed = await sendJson(program.baseUrl, `/api/operator/organizations/${organization.id}`, {
    method: "PATCH",
    apiKey: token,
    json: { overrides: { limits }, ...changes },
  });
  assert.equal(changed.status, 200, await changed.text());
  return { organizationId: organization.id, apiKeyId: apiKey.id };
}

async function keepsToLimits(scene: MeterScene): Promise<void> {
  const { program, key } = scene;
  await limit(scene, 10);
  const line = newLine(program);
  line.open();
  const meter = drive({ url: line.url, api_key: key, flush_interval: 60 });
  try {
    await meter.run('for n in range(20): meter.record("tiles", "other")');
    await meter.run('meter.record("tiles", "requests", 11)');
    const after = await meter.run(`${records("a", 20)}\nresult = meter.flush()`);
    const { recorded, waiting, sent, result } = after;
    assert.deepEqual([recorded, waiting, sent, after.rejected, result], [41, 0, 30, 11, true]);
    assert.ok(line.batches.length <= 4, `${line.batches.length} requests`);
    const rejected = meter.problems.flatMap(({ records }) => records.map(({ quantity }) => quantity));
    assert.equal(rejected[0], 11);
    assert.match(meter.problems[0]?.message ?? "", /limit_exceeded/);
    // Records that count already take no room, wherever they are in a batch.
    await limit(scene, 12);
    const again = await meter.run(`${records("a", 10)}\n${records("c", 5)}\nmeter.flush()`);
    assert.equal(again.rejected, 11 + 3);
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
  assert.deepEqual(await sumsOf(program, key), { other: [20, 20], requests: [12, 12] });
}

/** Usage of several customers, one of whom has reached a limit and one of whom doesn't exist. */
async function recordsAsOperator(scene: MeterScene): Promise<void> {
  const { program, token } = scene;
  const meter = drive({ url: program.baseUrl, operator_token: token, flush_interval: 60 });
  for (const field of ["organization_id", "external_id", "api_key_id"]) {
    const customer = async (name: string, quantity: number) => {
      const key = await newKey(program.baseUrl, `${name}-${field}`);
      const externalId = `${name}-${field}`;
      const { organizationId, apiKeyId } = await limit({ ...scene, key }, quantity, { externalId });
      return {
        key,
        id: { organization_id: organizationId, external_id: externalId, api_key_id: apiKeyId }[field],
      };
    };
    const [limited, other] = [await customer("limited", 3), await customer("other", 1_000)];
    const before = await meter.run("");
    for (const id of [limited.id, other.id, "org_none"]) {
      await meter.run(`for n in range(5): meter.record("tiles", "requests", ${field}="${id}")`);
    }
    const { sent, rejected, result } = await meter.run("result = meter.flush()");
    assert.deepEqual([sent - before.sent, rejected - before.rejected, result], [3 + 5, 2 + 5, true], field);
    assert.deepEqual(await sumsOf(program, limited.key), { requests: [3, 3] }, field);
    assert.deepEqual(await sumsOf(program, other.key), { requests: [5, 5] }, field);
  }
  const misuse = 'meter.record("tiles", "requests")\nmeter.record("tiles", "requests", external_id=1)';
  assert.equal((await meter.run(misuse)).rejected, 3 * (2 + 5) + 2);
  assert.equal(await meter.end(), 0);
}

const hourMs = 3_600_000;
/** The shortest windows. One day of the year has 23 hours. */
const windows = { minute: 60_000, hour: hourMs, day: 23 * hourMs, month: 28 * 24 * hourMs - hourMs };

/** A record that may belong to another window is sent again, and not rejected. */
async function knowsTheShortestWindows({ program, key }: MeterScene): Promise<void> {
  const resetsAt = Date.now();
  let per = "";
  const line = newLine(program, ({ batches }) => {
    if (batches.length > 0) return null;
    const limit = { productSlug: "tiles", metric: per, per, remaining: 0, resetsAt: new Date(resetsAt) };
    return Response.json({ error: { code: "limit_exceeded", details: [limit] } }, { status: 429 });
  });
  line.open();
  const meter = drive({ url: line.url, api_key: key, flush_interval: 60 });
  try {
    for (const [window, lengthMs] of Object.entries(windows)) {
      per = window;
      line.batches.splice(0);
      const times = { before: resetsAt - lengthMs - 1, within: resetsAt - lengthMs, after: resetsAt };
      for (const [id, ms] of Object.entries(times)) {
        const time = `datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=${ms})`;
        await meter.run(
          `meter.record("tiles", "${per}", idempotency_key="${id} ${per}", timestamp=${time})`,
        );
      }
      assert.equal((await meter.run("result = meter.flush()")).result, true);
      const ids = line.batches.map(({ ids }) => ids.map((id) => id.split(" ")[0]));
      assert.deepEqual(ids, [["before", "within", "after"], ["before", "after"]], per);
    }
    assert.equal(await meter.end(), 0);
  } finally {
    await line.close();
  }
}

pythonTest("gatehouse.py keeps to hard limits", {
  "rejects what doesn't fit into a hard limit, and only that": keepsToLimits,
  "separates the customers of an operator, however they are named": recordsAsOperator,
  "rejects only what surely belongs to a window, also on the shortest day": knowsTheShortestWindows,
});
