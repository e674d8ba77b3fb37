// Tests the settings of the OpenID provider.
import assert from "node:assert/strict";
import { accepted, assertInvalid, faultsOf } from "./config_assert.ts";

Deno.test("OPENID_WEBFINGER is a list of domains", () => {
  assert.deepEqual(accepted({ OPENID_WEBFINGER: "Example.com, example.org" }).openidWebfinger, [
    "example.com",
    "example.org",
  ]);
  for (const text of ["https://example.com", "ada@example.com", "10.0.0.1", "example.com."]) {
    assertInvalid("OPENID_WEBFINGER", text);
  }
});

Deno.test("OAUTH_CLIENT_HOSTS is a list of hosts, and requires SECRETS_KEY", () => {
  const SECRETS_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  const hosts = (text: string) => accepted({ OAUTH_CLIENT_HOSTS: text, SECRETS_KEY }).oauthClientHosts;
  assert.deepEqual(hosts("App.example.com, xn--bcher-kva.example:8443"), [
    "app.example.com",
    "xn--bcher-kva.example:8443",
  ]);
  assert.deepEqual([hosts("*"), hosts("")], [["*"], []]);
  for (
    const text of ["https://example.com", "*.example.com", "example.com/", "example.com:443", "a@b.example"]
  ) {
    assert.equal(faultsOf({ OAUTH_CLIENT_HOSTS: text, SECRETS_KEY }).length, 1, text);
  }
  assert.match(assertInvalid("OAUTH_CLIENT_HOSTS", "example.com"), /SECRETS_KEY is not set/);
});
