// The main workflow over HTTP, against any running server: sign up, create a key, record usage, read it, revoke the key.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../app/app.ts";

export interface Journey {
  readonly email: string;
  readonly cookie: string;
  readonly keyId: string;
  readonly fullKey: string;
}

/**
 * Sends JSON as the service's own pages do.
 *
 * @returns The response with its body already read. Deno reports an unread body as a leak, often in an unrelated test.
 */
export async function sendJson(baseUrl: string, path: string, options: {
  method?: string;
  json?: unknown;
  cookie?: string;
  apiKey?: string;
}): Promise<Response> {
  const response = await fetch(`${baseUrl}${path}`, {
    method: options.method ?? (options.json === undefined ? "GET" : "POST"),
    headers: {
      origin: baseUrl,
      ...(options.json === undefined ? {} : { "content-type": "application/json" }),
      ...(options.cookie === undefined ? {} : { cookie: options.cookie }),
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    },
    ...(options.json === undefined ? {} : { body: JSON.stringify(options.json) }),
  });
  const body = await response.text();
  return new Response(response.body === null ? null : body, response);
}

/** Signs up, creates a key, and records 1.5 twice under one idempotency key and 0.1 once. */
export async function signUpAndRecord(baseUrl: string, email = "ada@example.com"): Promise<Journey> {
  const signUp = await sendJson(baseUrl, "/api/auth/sign-up", {
    json: { name: "Ada", email, password: testPassword },
  });
  assert.equal(signUp.status, 201, await signUp.text());
  const cookie = cookieOf(signUp);
  const created = await sendJson(baseUrl, "/api/portal/api-keys", { cookie, json: { name: "Production" } });
  assert.equal(created.status, 201);
  const { apiKey: { id: keyId }, fullKey } = await created.json();
  const usage = { productSlug: "tiles", metric: "requests" };
  const statuses: number[] = [];
  const once = { quantity: 1.5, idempotencyKey: "once" };
  for (const more of [once, once, { quantity: 0.1 }]) {
    const json = { ...usage, ...more };
    const { status } = await sendJson(baseUrl, "/api/v1/usage", { apiKey: fullKey, json });
    statuses.push(status);
  }
  assert.deepEqual(statuses, [201, 200, 201]);
  await assertMonthSum(baseUrl, { fullKey, sum: 1.6 });
  return { email, cookie, keyId, fullKey };
}

export async function assertMonthSum(
  baseUrl: string,
  options: { fullKey: string; sum: number },
): Promise<void> {
  const response = await sendJson(baseUrl, "/api/v1/usage?window=month", { apiKey: options.fullKey });
  assert.equal(response.status, 200);
  assert.equal((await response.json()).data[0].sum, options.sum);
}

/** Revokes the key and asserts that the next request with it is rejected. */
export async function revokeAndAssertRejected(
  baseUrl: string,
  { cookie, keyId, fullKey }: Journey,
): Promise<void> {
  const revoked = await sendJson(baseUrl, `/api/portal/api-keys/${keyId}`, { method: "DELETE", cookie });
  assert.equal(revoked.status, 200);
  const json = { productSlug: "tiles", metric: "requests", quantity: 1 };
  const refused = await sendJson(baseUrl, "/api/v1/usage", { apiKey: fullKey, json });
  assert.equal(refused.status, 401);
}
