// Calls the API as a program does, mostly that of operators.
import assert from "node:assert/strict";
import type { OperatorScope } from "../../../domain/access/operator_scope.ts";
import type { SendOptions, TestApp } from "../app/app.ts";
import { newOperatorToken } from "./operators.ts";

/**
 * @param by Who sends, and the path before those of the requests.
 * @returns A function that sends requests, such as `GET /products`, and returns the body as JSON if it is an object.
 */
export function senderOf(
  test: Pick<TestApp, "send">,
  { path, ...by }: { path: string } & Pick<SendOptions, "cookie" | "apiKey">,
) {
  // deno-lint-ignore no-explicit-any
  return async (route: string, json?: unknown): Promise<{ status: number; body: any }> => {
    const [method = "GET", rest = ""] = route.split(" ");
    const response = await test.send(path + rest, { method, ...by, json });
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  };
}

/** @returns A function that sends requests below `/api/operator` with a token. */
export function asOperator(test: TestApp, apiKey: string) {
  return senderOf(test, { path: "/api/operator", apiKey });
}

/** Creates an operator token. @param scopes Default: all. @returns A function that sends requests with it. */
export async function operatorOf(test: TestApp, scopes?: readonly OperatorScope[]) {
  return asOperator(test, (await newOperatorToken(test, scopes)).fullToken);
}

/**
 * Sends requests one after another, and asserts what each returns: its status, the code of an error, and the paths of its details,
 * such as `422 validation_failed name`.
 */
export async function assertSent(
  send: ReturnType<typeof senderOf>,
  rows: readonly (readonly [route: string, json: unknown, outcome: string])[],
): Promise<void> {
  for (const [route, json, outcome] of rows) {
    const { status, body } = await send(route, json);
    const paths = body?.error?.details?.map(({ path }: { path: string }) => path) ?? [];
    const actual = [status, body?.error?.code ?? [], ...new Set(paths)].flat().join(" ");
    assert.equal(actual, outcome, `${route} ${JSON.stringify(json)} ${JSON.stringify(body)}`);
  }
}
