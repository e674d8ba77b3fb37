// Sends events with the CloudEvents SDK for JavaScript, as customers do, and hand-written ones.
// deno-lint-ignore no-import-prefix
import { CloudEvent, HTTP } from "npm:cloudevents@10.0.0";
import type { TestApp } from "../app/app.ts";

export { CloudEvent, HTTP };

/** An event serialized by the SDK. */
type Message = ReturnType<typeof HTTP.structured>;

/** Content types of CloudEvents. */
export const eventType = "application/cloudevents+json";
export const batchType = "application/cloudevents-batch+json";

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
  const headers = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]),
  );
  return test.send("/api/v1/usage", {
    method: "POST",
    apiKey,
    headers,
    ...(data === undefined ? {} : { json: data }),
  });
}
