// The CloudEvents SDK for JavaScript, as those use it who send events, and how tests send what it makes.
// deno-lint-ignore no-import-prefix
import { CloudEvent, HTTP } from "npm:cloudevents@10.0.0";
import type { TestApp } from "./app.ts";

export { CloudEvent, HTTP };

/** What the SDK makes of an event, for a transport to send. */
type Message = ReturnType<typeof HTTP.structured>;

/** The content types that are not JSON's own. */
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

/** Sends an event that no SDK would make. */
export function sendEvent(test: TestApp, apiKey: string, event: unknown): Promise<Response> {
  return test.send("/api/v1/usage", { apiKey, json: event, headers: { "content-type": eventType } });
}

/** Sends events in one request. */
export function sendBatch(test: TestApp, apiKey: string, events: unknown): Promise<Response> {
  return test.send("/api/v1/usage", { apiKey, json: events, headers: { "content-type": batchType } });
}

/** Sends an event whose attributes are headers. */
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
