// What requireKey promises about responses of models, for the product of each framework. middleware_test.ts runs these cases.
import assert from "node:assert/strict";
import { BodyReader } from "../../packages/client/src/sent_body.ts";
import { modelQuery } from "../support/client/model.ts";
import { modelBodies } from "../support/client/model_bodies.ts";
import type { ClientScene, Customer, ProductCases, See } from "../support/client/scene.ts";
import { poll } from "../support/runner/poll.ts";

export const modelCases: ProductCases = {
  "settles with what the API of a model says, and changes no byte": settlesWhatIsSaid,
  "sends the first bytes before the last have arrived": sendsFirstBytes,
  "settles what was delivered to a client that disconnects, once": settlesWhatWasDelivered,
  "releases the hold of a response without usage": releasesErrors,
};

const bearer = ({ apiKey }: Customer) => ({ authorization: `Bearer ${apiKey}` });

/** Waits until the only hold of the customer has ended, and returns its status and what was recorded. */
async function endOf(customer: Customer, { operate, usageOf }: ClientScene): Promise<unknown[]> {
  const path = `holds?organizationId=${customer.organizationId}`;
  await poll(async () => (await operate("GET", path)).holds[0]?.status !== "active");
  const { holds } = await operate("GET", path);
  assert.equal(holds.length, 1);
  return [holds[0].status, ...await usageOf(customer, "tokens")];
}

async function settlesWhatIsSaid(see: See, scene: ClientScene): Promise<void> {
  for (const [name, { text, type, usage }] of Object.entries(modelBodies)) {
    const customer = await scene.newCustomer();
    const { status, body, headers } = await see(`/model?${modelQuery(name)}`, bearer(customer));
    assert.deepEqual([status, body], [200, text], name);
    assert(headers["content-type"]?.startsWith(type));
    assert.deepEqual(await endOf(customer, scene), ["settled", 1, usage.totalTokens], name);
  }
}

/** Sends a request, and reads so many bytes of its body. */
async function readFirst(see: See, customer: Customer, query: string, bytes: number) {
  const leaving = new AbortController();
  const { signal } = leaving;
  const response = await fetch(`http://${see.host}/model?${query}`, { headers: bearer(customer), signal });
  const reader = response.body!.getReader();
  const parts: number[] = [];
  while (parts.length < bytes) parts.push(...(await reader.read()).value ?? assert.fail());
  return { parts, reader, leave: () => leaving.abort() };
}

async function sendsFirstBytes(see: See, scene: ClientScene): Promise<void> {
  const [[name, { text, usage }] = assert.fail()] = Object.entries(modelBodies);
  const customer = await scene.newCustomer();
  // The model sends no more until these have arrived.
  const { parts, reader } = await readFirst(see, customer, modelQuery(name, 10), 10);
  scene.model.release();
  for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(...part.value);
  assert.equal(new TextDecoder().decode(Uint8Array.from(parts)), text);
  assert.deepEqual(await endOf(customer, scene), ["settled", 1, usage.totalTokens]);
}

async function settlesWhatWasDelivered(see: See, scene: ClientScene): Promise<void> {
  const cuts = Object.entries(modelBodies).flatMap(([name, { text }]) => {
    const bytes = new TextEncoder().encode(text);
    return [0.1, 0.55, 0.97].map((part) => ({
      name,
      bytes: bytes.subarray(0, Math.floor(part * bytes.length)),
    }));
  });
  await Promise.all(cuts.map(async ({ name, bytes }) => {
    const customer = await scene.newCustomer();
    const { leave } = await readFirst(see, customer, modelQuery(name, bytes.length), bytes.length);
    leave();
    const reader = new BodyReader();
    reader.write(bytes);
    const path = `holds?organizationId=${customer.organizationId}`;
    // In Express and Fastify, a handler that finds nothing may go on.
    if (reader.usage === null) {
      await scene.operate("POST", `holds/${(await scene.operate("GET", path)).holds[0].id}/release`, {});
    }
    const expected = reader.usage === null ? ["released", 0, 0] : ["settled", 1, reader.usage.totalTokens];
    assert.deepEqual(await endOf(customer, scene), expected, `${name} after ${bytes.length}`);
  }));
  scene.model.release();
}

async function releasesErrors(see: See, scene: ClientScene): Promise<void> {
  const customer = await scene.newCustomer();
  const { status } = await see("/model?name=none", bearer(customer));
  assert.equal(status, 404);
  assert.deepEqual(await endOf(customer, scene), ["released", 0, 0]);
}
