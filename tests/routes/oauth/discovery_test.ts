// The documents that describe the provider.
import assert from "node:assert/strict";
import { testApp } from "../../support/app/app.ts";
import { addClient, authorizeAddress } from "../../support/oauth/scene.ts";

testApp("publishes one document at both addresses, and its keys", async (test) => {
  const read = async (path: string) => {
    const response = await test.app.request(new URL(path, test.config.baseUrl), {
      headers: { origin: "https://any.example" },
    });
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    assert.equal(response.headers.get("access-control-allow-credentials"), null);
    assert.match(response.headers.get("cache-control") ?? "", /max-age=3600/);
    return await response.json();
  };
  const document = await read("/.well-known/openid-configuration");
  assert.deepEqual(await read("/.well-known/oauth-authorization-server"), document);
  assert.equal(document.issuer, test.config.baseUrl.origin);
  assert.equal(document.request_uri_parameter_supported, false);
  const { keys } = await read(new URL(document.jwks_uri).pathname);
  assert.deepEqual(keys.map(({ alg }: { alg: string }) => alg).sort(), ["ES256", "RS256"]);
  for (const key of keys) assert.equal(key.d, undefined);
});

testApp("permits preflights of every origin at the token endpoint", async (test) => {
  const response = await test.app.request(new URL("/oauth/token", test.config.baseUrl), {
    method: "OPTIONS",
    headers: { origin: "https://any.example", "access-control-request-method": "POST" },
  });
  assert.equal(response.status, 204);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
});

testApp("says that applications need https, and sends them nowhere without it", async (test) => {
  for (const path of ["/.well-known/openid-configuration", "/oauth/jwks"]) {
    const response = await test.send(path);
    assert.equal(response.status, 503, path);
    assert.match((await response.json()).error_description, /BASE_URL begins with https/);
  }
  const page = await test.send(authorizeAddress(await addClient(test)));
  assert.equal(page.status, 503);
  assert.match(await page.text(), /BASE_URL begins with https/);
}, { BASE_URL: "http://auth.example.com" });
