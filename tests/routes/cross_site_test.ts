// Writes with a cookie: accepted from the service's own pages and from programs, rejected from other sites.
import assert from "node:assert/strict";
import { servingOptions } from "../../commands/serve/listen.ts";
import { createTestKey, type TestApp, testApp, testPassword } from "../support/app/app.ts";
import { assertOutcome } from "../support/app/rows.ts";

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
  const { id } = await createTestKey(test, ada);
  const path = `/api/portal/api-keys/${id}`;
  const json = { "content-type": "application/json; charset=utf-8", cookie: ada.cookie };
  const signIn = JSON.stringify({ email: ada.email, password: testPassword });
  for (
    const [method, to, headers, body, status] of [
      ["POST", "/api/auth/sign-in", { ...json, cookie: "" }, signIn, 200],
      ["PATCH", path, json, '{"name":"Staging"}', 200],
      ["POST", `${path}/rotate`, json, undefined, 201],
      ["DELETE", path, { cookie: ada.cookie }, undefined, 200],
    ] as const
  ) {
    await assertOutcome(
      sendPlain(test, to, { method, headers, ...(body === undefined ? {} : { body }) }),
      status,
    );
  }
});

testApp("rejects requests without origin headers that need no preflight", async (test) => {
  const { cookie } = await test.signUp();
  const form = "application/x-www-form-urlencoded";
  const types = [form, "multipart/form-data", "text/plain", "text/plain; application/json"];
  for (const path of ["/api/auth/sign-out", "/api/portal/api-keys", "/api/auth/sign-in"]) {
    for (const type of types) {
      const options = { headers: { cookie, "content-type": type }, body: "name=x" };
      await assertOutcome(sendPlain(test, path, options), "403 cross_site");
    }
    // Scripts can send this to any site without a preflight.
    await assertOutcome(sendPlain(test, path, { headers: { cookie } }), "403 cross_site");
  }
  const fields = { headers: { "content-type": form }, body: "email=ada%40example.com&password=x" };
  await assertOutcome(sendPlain(test, "/sign-in", fields), 403);
});

testApp("lets pages be compressed only if another site has not opened them", async (test) => {
  const { cookie } = await test.signUp();
  const server = Deno.serve({ port: 0, onListen: () => {}, ...servingOptions }, test.app.fetch);
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
