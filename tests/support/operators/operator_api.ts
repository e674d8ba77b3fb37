// Calls the operators' API as a program does.
import assert from "node:assert/strict";
import type { OperatorScope } from "../../../domain/operator/operator_scope.ts";
import type { TestApp } from "../app/app.ts";
import { newOperatorToken } from "./operators.ts";

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

/** Creates an operator token. @param scopes Default: all. @returns A function that sends requests with it. */
export async function operatorOf(test: TestApp, scopes?: readonly OperatorScope[]) {
  return asOperator(test, (await newOperatorToken(test, scopes)).fullToken);
}

/**
 * Sends requests one after another, and asserts what each returns: its status, the code of an error, and the paths of its details,
 * such as `422 validation_failed name`.
 */
export async function assertSent(
  send: (route: string, json?: unknown) => Promise<OperatorResponse>,
  rows: readonly (readonly [route: string, json: unknown, outcome: string])[],
): Promise<void> {
  for (const [route, json, outcome] of rows) {
    const { status, body } = await send(route, json);
    const paths = body?.error?.details?.map(({ path }: { path: string }) => path) ?? [];
    const actual = [status, body?.error?.code ?? [], ...new Set(paths)].flat().join(" ");
    assert.equal(actual, outcome, `${route} ${JSON.stringify(json)} ${JSON.stringify(body)}`);
  }
}
