// What requireKey promises about holds, for the product of each framework. middleware_test.ts runs these cases.
import assert from "node:assert/strict";
import type { Hold } from "../../packages/client/src/index.ts";
import type { ClientScene, Customer, ProductCases, See } from "../support/client/scene.ts";
import { poll } from "../support/runner/poll.ts";

const limits = [{ productSlug: "models", metric: "tokens", per: "month", quantity: 250, mode: "hard" }];

export const holdCases: ProductCases = {
  "settles a hold with what the handler found once the response has ended": settlesAfterResponse,
  "rejects what finds no room beside other holds, before the handler runs": rejectsWithoutRoom,
  "settles the hold of a client that disconnects at the start, in the middle and at the end":
    settlesDisconnected,
  "settles or releases the hold of a handler that fails": settlesFailed,
  "leaves a hold to expire if it isn't known what was used": leavesUnknown,
  "settles responses without a body": settlesWithoutBody,
  "serves nothing without a hold": deniesWithoutHold,
};

const bearer = ({ apiKey }: Customer) => ({ authorization: `Bearer ${apiKey}` });

/** Creates a customer, and functions that send requests of theirs and read what became of their holds, the newest first. */
async function heldCustomer(see: See, { newCustomer, operate, usageOf }: ClientScene) {
  const customer = await newCustomer(undefined, { limits });
  const name = crypto.randomUUID();
  const holds = async (): Promise<Hold[]> =>
    (await operate("GET", `holds?organizationId=${customer.organizationId}`)).holds;
  return {
    customer,
    name,
    path: (query: string) => `/generate?name=${name}&${query}`,
    get: (query: string, method = "GET") => see(`/generate?name=${name}&${query}`, bearer(customer), method),
    holds,
    /** Waits until all holds have ended. */
    async statuses(): Promise<string[]> {
      await poll(async () => (await holds()).every(({ status }) => status !== "active"));
      return (await holds()).map(({ status }) => status);
    },
    tokens: () => usageOf(customer, "tokens"),
  };
}

async function settlesAfterResponse(see: See, scene: ClientScene): Promise<void> {
  const { get, statuses, holds, tokens } = await heldCustomer(see, scene);
  const { status, body, headers } = await get("chunks=3");
  assert.deepEqual([status, body], [200, "chunk\n".repeat(3)]);
  assert.match(headers["ratelimit"] ?? "", /r=150/);
  assert.deepEqual(await statuses(), ["settled"]);
  const [hold] = await holds();
  assert.deepEqual([hold?.heldBy, hold?.usageRecordIds.length], ["operator", 1]);
  assert.deepEqual(hold?.records.map(({ metric, quantity }) => [metric, quantity]), [["tokens", 100], [
    "runs",
    1,
  ]]);
  assert.deepEqual(await tokens(), [1, 30]);
  // More than was held.
  await get("chunks=13");
  assert.deepEqual(await statuses(), ["settled", "settled"]);
  assert.deepEqual(await tokens(), [2, 160]);
  assert.equal((await get("chunks=1")).status, 429);
}

async function rejectsWithoutRoom(see: See, scene: ClientScene): Promise<void> {
  const { get, holds, statuses, tokens } = await heldCustomer(see, scene);
  const waiting = ["held=100&do=wait%20first", "held=150&do=wait%20first"].map((query) => get(query));
  await poll(async () => (await holds()).length === 2);
  const denied = await get("held=1");
  assert.equal(denied.status, 429, denied.body);
  const { error } = JSON.parse(denied.body);
  assert.equal(error.code, "limit_exceeded");
  assert.deepEqual(
    error.details.map(({ held, used, remaining }: Record<string, number>) => [held, used, remaining]),
    [
      [250, 0, 0],
    ],
  );
  const after = Number(denied.headers["retry-after"]);
  assert(after >= 1 && after <= 5, String(after));
  const settled = poll(async () =>
    (await see("/release", {}, "POST")).status === 200 &&
    (await holds()).every(({ status }) => status !== "active")
  );
  assert.deepEqual((await Promise.all(waiting)).map(({ status }) => status), [200, 200]);
  await settled;
  assert.deepEqual(await statuses(), ["settled", "settled"]);
  assert.deepEqual(await tokens(), [2, 60]);
}

/** Sends a request, and disconnects once the response has so many chunks. */
async function leaveAfter(
  host: string,
  path: string,
  { apiKey }: Customer,
  chunks: number,
): Promise<() => void> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(host.split(":")[1]) });
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const [decoder, buffer] = [new TextDecoder(), new Uint8Array(4_096)];
  let text = "";
  while (text.split("chunk").length <= chunks) {
    text += decoder.decode(buffer.subarray(0, await connection.read(buffer) ?? 0));
  }
  return () => connection.close();
}

async function settlesDisconnected(see: See, scene: ClientScene): Promise<void> {
  const state = async () => JSON.parse((await see("/state")).body);
  for (
    const [query, chunks] of [["do=wait%20first", 0], ["chunks=2&do=stall", 2], ["chunks=2", 2]] as const
  ) {
    const { path, customer, name, holds, statuses, tokens } = await heldCustomer(see, scene);
    const isAtStart = chunks === 0;
    const { waiting, gone } = await state();
    const leave = await leaveAfter(see.host, path(query), customer, chunks);
    if (isAtStart) await poll(async () => (await state()).waiting > waiting);
    assert.equal((await holds()).length, 1);
    leave();
    if (isAtStart) {
      await poll(async () => (await state()).gone > gone);
      // Nothing is known yet, and the handler goes on.
      assert.equal((await holds())[0]?.status, "active");
      await see("/release", {}, "POST");
    }
    const ended = await statuses();
    const found = (await state()).found[name];
    const [count, sum] = await tokens();
    if (chunks > 0) assert(found >= 10 * chunks, String(found));
    assert.deepEqual(
      [ended, count, sum],
      found === undefined ? [["released"], 0, 0] : [["settled"], 1, found],
      query,
    );
  }
}

async function settlesFailed(see: See, scene: ClientScene): Promise<void> {
  const { get, statuses, tokens } = await heldCustomer(see, scene);
  assert.equal((await get("do=throw%20first")).status, 500);
  assert.deepEqual(await statuses(), ["released"]);
  assert.deepEqual(await tokens(), [0, 0]);
  assert.equal((await get("do=throw")).status, 500);
  assert.deepEqual(await statuses(), ["settled", "released"]);
  assert.deepEqual(await tokens(), [1, 10]);
  assert.equal((await get("settle=nothing")).status, 200);
  assert.deepEqual(await statuses(), ["settled", "settled", "released"]);
  assert.deepEqual(await tokens(), [1, 10]);
}

async function leavesUnknown(see: See, scene: ClientScene): Promise<void> {
  const { get, statuses, holds } = await heldCustomer(see, scene);
  assert.equal((await get("settle=throw")).status, 200);
  assert.equal((await get("settle=nonsense")).status, 200);
  // A later request is settled, and these aren't.
  assert.equal((await get("held=10")).status, 200);
  await poll(async () => (await holds())[0]?.status === "settled");
  assert.deepEqual((await holds()).map(({ status }) => status), ["settled", "active", "active"]);
  for (const { id } of (await holds()).slice(1)) await scene.operate("POST", `holds/${id}/release`, {});
  assert.deepEqual(await statuses(), ["settled", "released", "released"]);
}

async function settlesWithoutBody(see: See, scene: ClientScene): Promise<void> {
  const { get, statuses } = await heldCustomer(see, scene);
  assert.equal((await get("chunks=1", "HEAD")).status, 200);
  assert.equal((await statuses()).length, 1);
}

async function deniesWithoutHold(see: See, scene: ClientScene): Promise<void> {
  const { get, holds, customer } = await heldCustomer(see, scene);
  assert.equal((await get("do=hold%20nothing")).status, 500);
  assert.equal((await see("/generate-down", bearer(customer))).status, 503);
  assert.equal((await see("/generate", {})).status, 401);
  assert.deepEqual(await holds(), []);
}
