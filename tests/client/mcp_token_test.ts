// requireTokenFetch against responses of a scripted Gatehouse, and the options of both. tests/guides/openid_examples_test.ts runs
// requireToken against the real one.
import assert from "node:assert/strict";
import { accessOf, requireToken, requireTokenFetch } from "../../packages/client/src/mcp.ts";
import { Gatehouse } from "../../packages/client/src/index.ts";

const active = {
  active: true,
  sub: "usr_1",
  client_id: "cli_1",
  scope: "tools:call openid",
  exp: 2_000_000_000,
  organization: { id: "org_1", name: "Engines", role: "MEMBER" },
};
const resource = { uri: "https://mcp.example.com/", id: "res_1", secret: "secret" };

function answering(status: number, body: unknown) {
  const asked: Request[] = [];
  const fetch = (...request: Parameters<typeof globalThis.fetch>) => {
    asked.push(new Request(...request));
    return Promise.resolve(Response.json(body, { status }));
  };
  const gatehouse = new Gatehouse({ url: "https://auth.example.com", operatorToken: "token", fetch });
  const handler = requireTokenFetch(
    { gatehouse, ...resource, scope: ["tools:call"] },
    (_request, extra) => Response.json(accessOf(extra)),
  );
  return { asked, send: (headers = {}) => handler(new Request(resource.uri, { method: "POST", headers })) };
}

const metadata = 'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"';
const bearer = { authorization: "Bearer service_access_1" };

Deno.test("asks for each token with the resource's secret, and passes on whose it is", async () => {
  const { asked, send } = answering(200, active);
  assert.deepEqual(await (await send(bearer)).json(), {
    userId: "usr_1",
    clientId: "cli_1",
    scopes: ["tools:call", "openid"],
    organization: active.organization,
    expiresAt: "2033-05-18T03:33:20.000Z",
  });
  const [request] = asked;
  assert.equal(request?.url, "https://auth.example.com/oauth/introspect");
  assert.equal(request.headers.get("authorization"), `Basic ${btoa("res_1:secret")}`);
  assert.equal(await request.text(), "token=service_access_1");
  assert.equal(
    (await answering(200, active).send()).headers.get("www-authenticate"),
    `Bearer scope="tools:call", ${metadata}`,
  );
});

Deno.test("rejects what no one may do, and everyone while Gatehouse can't be asked", async () => {
  const rows = [
    [{ active: false }, 401, `Bearer error="invalid_token", scope="tools:call", ${metadata}`],
    [
      { ...active, scope: "openid" },
      403,
      `Bearer error="insufficient_scope", scope="tools:call", ${metadata}`,
    ],
    [{ ...active, organization: null }, 403, null],
  ] as const;
  for (const [body, status, challenge] of rows) {
    const response = await answering(200, body).send(bearer);
    assert.deepEqual([response.status, response.headers.get("www-authenticate")], [status, challenge]);
  }
  const down = await answering(503, { error: "temporarily_unavailable" }).send(bearer);
  assert.equal(down.status, 503);
  // The resource's own secret is wrong: that is no error of the client.
  await assert.rejects(async () => await answering(401, { error: "invalid_client" }).send(bearer));
});

Deno.test("rejects unknown options and options without a value", () => {
  const gatehouse = new Gatehouse({ url: "https://auth.example.com", operatorToken: "token" });
  assert.throws(() => requireToken({ gatehouse, ...resource, permission: "x" } as never), TypeError);
  for (const name of ["gatehouse", "uri", "id", "secret", "scopes", "scope"]) {
    assert.throws(
      () => requireToken({ gatehouse, ...resource, [name]: undefined as never }),
      TypeError,
      name,
    );
  }
});
