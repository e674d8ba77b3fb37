// The warning about a proxy that is missing from TRUSTED_PROXIES.
import assert from "node:assert/strict";
import { type TestApp, testApp } from "../support/app/app.ts";

async function ask(test: TestApp, peerAddress: string, forwardedFor?: string): Promise<void> {
  const headers: Record<string, string> = forwardedFor === undefined
    ? {}
    : { "x-forwarded-for": forwardedFor };
  const response = await test.send("/api/auth/me", { peerAddress, headers });
  assert.equal(response.status, 200);
}

function warnings(test: TestApp): string[] {
  return test.logged().split("\n").filter((line) => line.includes("TRUSTED_PROXIES"));
}

testApp("warns once about X-Forwarded-For from an untrusted peer", async (test) => {
  await ask(test, "10.0.0.7");
  assert.deepEqual(warnings(test), []);
  for (let count = 0; count < 3; count++) await ask(test, "10.0.0.7", "203.0.113.9");
  await ask(test, "10.0.0.8", "203.0.113.9");
  assert.equal(warnings(test).length, 1);
  assert.match(warnings(test)[0] ?? "", /"peer":"10\.0\.0\.7"/);
});

testApp("says which limits a proxy's users have until it is trusted", async (test) => {
  await ask(test, "198.51.100.7", "203.0.113.9");
  assert.match(warnings(test)[0] ?? "", /shares its address and rate limits/);
});

testApp("warns only about peers that aren't trusted proxies", async (test) => {
  for (let count = 0; count < 3; count++) await ask(test, "10.0.0.7", "203.0.113.9");
  assert.deepEqual(warnings(test), []);
  await ask(test, "10.9.0.8", "203.0.113.9");
  assert.equal(warnings(test).length, 1);
}, { TRUSTED_PROXIES: "10.0.0.0/24" });
