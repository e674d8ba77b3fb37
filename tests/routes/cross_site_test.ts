// Writes with a cookie: accepted from the service's own pages and from programs, rejected from other sites.
import assert from "node:assert/strict";
import { assertError, createTestKey, type TestApp, testApp, testPassword } from "../support/app/app.ts";

/** Sends only these headers, like a program. `test.send` acts like a page of the service. */
function sendPlain(
  test: TestApp,
  path: string,
  options: { method?: string; headers?: Readonly<Record<string, string>>; body?: string },
): Promise<Response> {
  const { method = "POST", headers = {}, body = null } = options;
  const request = new Request(`${test.config.baseUrl.origin}${path}`, { method, headers, body });
  // The runtime adds a content type to a string.
  if (headers["content-type"] === undefined) request.headers.delete("content-type");
  return Promise.resolve(test.app.fetch(request, { remoteAddr: { hostname: "127.0.0.1" } }));
}

testApp("a program without Origin and Sec-Fetch-Site signs in and writes with JSON", async (test) => {
  const ada = await test.signUp();
  const json = { "content-type": "application/json; charset=utf-8" };
  const body = JSON.stringify({ email: ada.email, password: testPassword });
  const signedIn = await sendPlain(test, "/api/auth/sign-in", { headers: json, body });
  assert.equal(signedIn.status, 200, await signedIn.text());
  const key = await createTestKey(test, ada);
  const { cookie } = ada;
  const path = `/api/portal/api-keys/${key.id}`;
  const renamed = await sendPlain(test, path, {
    method: "PATCH",
    headers: { ...json, cookie },
    body: JSON.stringify({ name: "Staging" }),
  });
  assert.equal(renamed.status, 200, await renamed.text());
  const rotated = await sendPlain(test, `${path}/rotate`, { headers: { ...json, cookie } });
  assert.equal(rotated.status, 201, await rotated.text());
  const revoked = await sendPlain(test, path, { method: "DELETE", headers: { cookie } });
  assert.equal(revoked.status, 200, await revoked.text());
});

testApp("rejects requests without origin headers that need no preflight", async (test) => {
  const { cookie } = await test.signUp();
  const types = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
    "text/plain; application/json",
  ];
  for (const path of ["/api/auth/sign-out", "/api/portal/api-keys", "/api/auth/sign-in"]) {
    for (const type of types) {
      const response = await sendPlain(test, path, {
        headers: { cookie, "content-type": type },
        body: "name=x",
      });
      await assertError(response, 403, "cross_site");
    }
    // Scripts can send this to any site without a preflight.
    await assertError(await sendPlain(test, path, { headers: { cookie } }), 403, "cross_site");
  }
  const form = await sendPlain(test, "/sign-in", {
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "email=ada%40example.com&password=x",
  });
  assert.equal(form.status, 403);
});

testApp("rejects JSON from another site", async (test) => {
  const { cookie } = await test.signUp();
  const json = { cookie, "content-type": "application/json" };
  const own = test.config.baseUrl.origin;
  for (
    const headers of [
      { ...json, origin: "https://evil.example" },
      { ...json, origin: "null" },
      { ...json, "sec-fetch-site": "same-site" },
      { ...json, "sec-fetch-site": "cross-site" },
      { ...json, "sec-fetch-site": "none" },
      { ...json, origin: own, "sec-fetch-site": "cross-site" },
      { ...json, origin: "" },
    ]
  ) {
    for (const method of ["POST", "DELETE"]) {
      const response = await sendPlain(test, "/api/auth/sessions", { method, headers });
      assert.equal(response.status, method === "DELETE" ? 403 : 405);
    }
    await assertError(
      await sendPlain(test, "/api/portal/api-keys", { headers, body: "{}" }),
      403,
      "cross_site",
    );
  }
});

testApp("lets pages be compressed only if another site has not opened them", async (test) => {
  const { cookie } = await test.signUp();
  const server = Deno.serve({ port: 0, onListen: () => {} }, test.app.fetch);
  const curl = async (path: string, site: string, more: readonly string[] = []) => {
    const { stdout } = await new Deno.Command("curl", {
      args: [
        ...["--silent", "--output", "/dev/null", "--dump-header", "-"],
        ...["--header", "Accept-Encoding: gzip", "--cookie", cookie, "--header", `Sec-Fetch-Site: ${site}`],
        ...more.flatMap((header) => ["--header", header]),
        `http://127.0.0.1:${server.addr.port}${path}`,
      ],
    }).output();
    return new TextDecoder().decode(stdout);
  };
  try {
    for (const site of ["same-origin", "none"]) {
      assert.match(await curl("/portal/api-keys", site), /^content-encoding: gzip\r$/im, site);
    }
    for (const site of ["same-site", "cross-site", ""]) {
      assert.doesNotMatch(await curl("/portal/api-keys", site), /^content-encoding/im, site);
    }
    const update = ["HX-Request: true"];
    assert.doesNotMatch(await curl("/portal/usage", "same-origin", update), /^content-encoding/im);
    const link = [...update, "HX-Boosted: true"];
    assert.match(await curl("/portal/usage", "same-origin", link), /^content-encoding: gzip\r$/im);
    assert.doesNotMatch(await curl("/api/portal/api-keys", "same-origin"), /^content-encoding/im);
  } finally {
    await server.shutdown();
  }
});
