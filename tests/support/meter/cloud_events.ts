// Sends events with the CloudEvents SDK for JavaScript, as customers do, and hand-written ones.
// deno-lint-ignore no-import-prefix
import { CloudEvent, HTTP } from "npm:cloudevents@10.0.0";
import assert from "node:assert/strict";
import type { TestApp } from "../app/app.ts";
import { newKeys, newOrganization } from "../people/scene.ts";
import { listAll } from "./usage.ts";

export { CloudEvent, HTTP };

/** An event serialized by the SDK. */
type Message = ReturnType<typeof HTTP.structured>;

/** Content types of CloudEvents. */
export const eventType = "application/cloudevents+json";
export const batchType = "application/cloudevents-batch+json";

/** Returns the key of a new organization. */
export async function newKey(test: TestApp): Promise<string> {
  const [key] = await newKeys(test, await newOrganization(test, "Maps"), 1);
  assert.ok(key);
  return key.fullKey;
}

/** Sends a message that the SDK serialized. */
export function sendMessage(test: TestApp, apiKey: string, { headers, body }: Message): Promise<Response> {
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return test.send("/api/v1/usage", {
    method: "POST",
    apiKey,
    headers: plain,
    ...(body === undefined ? {} : { body: body as string }),
  });
}

/** Sends a hand-written event, valid or not. */
export function sendEvent(test: TestApp, apiKey: string, event: unknown): Promise<Response> {
  return test.send("/api/v1/usage", { apiKey, json: event, headers: { "content-type": eventType } });
}

/** Sends a batch of events. */
export function sendBatch(test: TestApp, apiKey: string, events: unknown): Promise<Response> {
  return test.send("/api/v1/usage", { apiKey, json: events, headers: { "content-type": batchType } });
}

/** Sends an event in binary mode, with its attributes in headers. */
export function sendBinary(
  test: TestApp,
  apiKey: string,
  { attributes, data }: { attributes: Readonly<Record<string, string>>; data?: unknown },
): Promise<Response> {
  return test.send("/api/v1/usage", {
    method: "POST",
    apiKey,
    headers: inHeaders(attributes),
    ...(data === undefined ? {} : { json: data }),
  });
}

/** A request with events, and what comes of it. */
export interface EventScenario {
  /** Default: `/api/v1/usage`. */
  readonly path?: string;
  /** The content type. Default: of one event. Null sends none. */
  readonly type?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as JSON; a string is sent as it is. */
  readonly body: unknown;
  /** The status; of an error also its code, and the paths of its details. */
  readonly gives: number | readonly [status: number, code: string, ...paths: string[]];
  /** A part of each record afterwards, oldest first. Default: of a success any one, otherwise none. */
  readonly records?: readonly object[];
}

/** Sends each request with the key of a new organization; those that record nothing share one. @throws With the name of the scenario. */
export async function checkScenarios(
  test: TestApp,
  scenarios: Readonly<Record<string, EventScenario>>,
): Promise<void> {
  let rejected: string | undefined;
  for (const [name, scenario] of Object.entries(scenarios)) {
    const isRejected = typeof scenario.gives !== "number" && scenario.records === undefined;
    const key = isRejected ? rejected ??= await newKey(test) : await newKey(test);
    await checkScenario(test, key, scenario).catch((cause) => {
      throw new Error(name, { cause });
    });
  }
}

async function checkScenario(
  test: TestApp,
  apiKey: string,
  { path = "/api/v1/usage", type = eventType, headers, body, gives, records }: EventScenario,
): Promise<void> {
  const response = await test.send(path, {
    method: "POST",
    apiKey,
    headers: { ...(type === null ? {} : { "content-type": type }), ...headers },
    // Plain text would need its own content type.
    body: new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body)),
  });
  const text = await response.text();
  const [status, code, ...paths] = typeof gives === "number" ? [gives] : gives;
  assert.equal(response.status, status, text);
  if (code !== undefined) {
    const { error } = JSON.parse(text);
    assert.equal(error.code, code, text);
    if (paths.length > 0) assert.deepEqual(error.details.map((one: { path: string }) => one.path), paths);
  }
  const stored = (await listAll(test, apiKey)).toReversed();
  const expected = records ?? (code === undefined ? [{}] : []);
  assert.deepEqual(stored, stored.map((record, n) => ({ ...record, ...expected[n] })));
  assert.equal(stored.length, expected.length, "the number of records");
}

/** Returns the headers of a binary event. */
export function inHeaders(attributes: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]));
}
