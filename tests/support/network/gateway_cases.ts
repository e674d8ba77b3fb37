// Requests that a gateway must admit or deny, for any gateway.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../app/app.ts";
import { addLimit } from "../meter/limits.ts";
import { type ClientRequest, type Outcome, valuesOf } from "./gateways.ts";

/** Headers by which a client claims to be someone else, or to be judged by other conditions. */
export const hostileHeaders: ClientRequest["headers"] = [
  ["Remote-User", "usr_forged"],
  ["Remote-Organization", "org_forged"],
  ["remote-organization", "org_forged"],
  ["Remote-Api-Key", "key_forged"],
  ["Remote-Permissions", "everything"],
  ["Remote-Features", "everything"],
  ["Remote-Key-Environment", "test"],
  ["Remote-Groups", "admin"],
  ["X-Forwarded-For", "198.51.100.9"],
  ["X-Forwarded-Uri", "/?meter=other/metric"],
  ["X-Forwarded-Method", "OPTIONS"],
  ["X-Forwarded-Host", "evil.example"],
  ["X-HTTP-Method-Override", "GET"],
  ["X-Original-URL", "/health/live"],
  ["X-Rewrite-URL", "/health/live"],
  ["Idempotency-Key", "always"],
  ["Cookie", "access_token=forged"],
  ["Origin", "https://evil.example"],
  ["Sec-Fetch-Site", "cross-site"],
  ["Connection", "Remote-Organization, Remote-Api-Key"],
];

/** @returns The organization, key, environment and permissions that an application reads, each said once and by Gatehouse. */
export function identityOf(passed: ClientRequest["headers"]): string[] {
  assert.deepEqual(valuesOf(passed, "authorization"), []);
  assert.deepEqual(
    passed.filter(([, value]) => /forged|everything/.test(value) && !/^access_token/.test(value)),
    [],
  );
  assert.deepEqual(valuesOf(passed, "remote-groups"), []);
  return ["remote-organization", "remote-api-key", "remote-key-environment", "remote-permissions"].map(
    (name) => {
      const values = valuesOf(passed, name);
      assert.equal(values.length, 1, name);
      return values[0] ?? "";
    },
  );
}

/** @returns A function that returns how many tiles were counted in a key's organization. */
export function ledgerOf(test: TestApp, apiKey: string): () => Promise<number> {
  return async () => {
    const response = await test.send("/api/v1/usage?window=month&productSlug=tiles&metric=requests", {
      apiKey,
    });
    const { data: [row] } = await response.json();
    return row?.sum ?? 0;
  };
}

/** Asserts that a gateway denies requests without a working key and counts none, and a revoked key from the next request on. */
export async function assertStops(
  test: TestApp,
  send: (headers: ClientRequest["headers"], rest?: Partial<ClientRequest>) => Promise<Outcome>,
): Promise<void> {
  const ada = await test.signUp();
  const permissions = ["usage:read", "usage:write", "maps:render"];
  const { id, fullKey } = await createTestKey(test, ada, { permissions });
  const { fullKey: other } = await createTestKey(test, ada);
  const counted = ledgerOf(test, other);
  await addLimit(test, {}, { productSlug: "tiles", per: "day", quantity: 100, mode: "hard" });
  const denied = async (
    headers: ClientRequest["headers"],
    expected: string,
    rest: Partial<ClientRequest> = {},
  ) => {
    const outcome = await send(headers, rest);
    assert("denied" in outcome, JSON.stringify([headers, rest]));
    const { error } = JSON.parse(outcome.denied.body);
    assert.equal(`${outcome.denied.status} ${error.code}`, expected, JSON.stringify(headers));
  };
  const key = ["Authorization", `Bearer ${fullKey}`] as const;
  await denied([], "401 invalid_api_key");
  await denied(hostileHeaders, "401 invalid_api_key");
  await denied([["Cookie", ada.cookie]], "401 invalid_api_key");
  await denied([["X-Api-Key", fullKey]], "401 invalid_api_key");
  await denied([["Authorization", `Basic ${btoa(fullKey)}`]], "401 invalid_api_key");
  // Which of two keys would count? None.
  await denied([key, ["Authorization", "Bearer service_live_wrong"]], "401 invalid_api_key");
  await denied([key, key], "401 invalid_api_key");
  // The gateway removes what Connection names.
  await denied([key, ["Connection", "close, authorization"]], "401 invalid_api_key");
  await denied([["Authorization", `Bearer ${other}`]], "403 permission_missing");
  // A path or a query of the client's changes nothing.
  for (
    const target of [
      "/../../health/live",
      "/%2e%2e/health/live",
      "/?meter=a/b&limit=off",
      "//x?accept=session",
    ]
  ) {
    await denied([], "401 invalid_api_key", { target });
    await denied([["Cookie", ada.cookie]], "401 invalid_api_key", { target, method: "GET" });
  }
  assert.equal(await counted(), 0);
  assert("passed" in await send([key]));
  assert.equal(await counted(), 1);
  const revoked = await test.send(`/api/portal/api-keys/${id}`, { method: "DELETE", cookie: ada.cookie });
  assert.equal(revoked.status, 200);
  await denied([key], "401 invalid_api_key");
  assert.equal(await counted(), 1);
}
