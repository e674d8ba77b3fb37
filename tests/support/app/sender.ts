// Sends JSON requests of one person to the routes below one path.
import type { TestApp } from "./app.ts";

/** @returns A function that sends requests, such as `POST` or `DELETE /whk_…`, and returns the body as text and as JSON. */
export function senderOf(test: TestApp, { path, cookie }: { path: string; cookie: string }) {
  return async (route: string, json?: unknown) => {
    const [method = "GET", rest = ""] = route.split(" ");
    const response = await test.send(path + rest, {
      method,
      cookie,
      ...(json === undefined ? {} : { json }),
    });
    const text = await response.text();
    return { status: response.status, text, body: text === "" ? null : JSON.parse(text) };
  };
}
