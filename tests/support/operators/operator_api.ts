// Calls the operators' API as a program does.
import type { TestApp } from "../app/app.ts";

/** A response of the operators' API. */
export interface OperatorResponse {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** @returns A function that sends requests below `/api/operator`, such as `GET /products`, with a token. */
export function asOperator(test: TestApp, fullToken: string) {
  return async (route: string, json?: unknown): Promise<OperatorResponse> => {
    const [method = "GET", path = ""] = route.split(" ");
    const body = json === undefined ? {} : { json };
    const response = await test.send(`/api/operator${path}`, { method, apiKey: fullToken, ...body });
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  };
}
