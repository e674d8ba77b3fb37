// Sends events with the CloudEvents SDK for JavaScript.
// deno-lint-ignore no-import-prefix
import { CloudEvent, HTTP } from "npm:cloudevents@10.0.0";
import type { TestApp } from "./app.ts";

export { CloudEvent, HTTP };

/** A message of the SDK, for a transport. */
type Message = ReturnType<typeof HTTP.structured>;

/** The content types of events. */
export const eventType = "application/cloudevents+json";
export const batchType = "application/cloudevents-batch+json";

/** Sends a message of the SDK. */
export function sendMessage(test: TestApp, apiKey: string, { headers, body }: Message): Promise<Response> {
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return test.send("/api/v1/usage", {
    method: "POST",
    apiKey,
    headers: plain,
    ...(body === undefined ? {} : { body: body as string }),
  });
}

/** Sends an event without the SDK. */
export function sendEvent(test: TestApp, apiKey: string, event: unknown): Promise<Response> {
  return test.send("/api/v1/usage", { apiKey, json: event, headers: { "content-type": eventType } });
}

/** Sends a batch of events. */
export function sendBatch(test: TestApp, apiKey: string, events: unknown): Promise<Response> {
  return test.send("/api/v1/usage", { apiKey, json: events, headers: { "content-type": batchType } });
}

/** Sends an event in binary mode. */
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
