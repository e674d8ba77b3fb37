// The middlewares of @gatehouse/client with the real Hono, Express 4 and 5 and Fastify under Node.js, and without a framework, against
// the real program.
import { requireKey as protect } from "../../packages/client/src/fetch.ts";
import assert from "node:assert/strict";
import { apiKeyOf, requireKey, requireSession, sessionOf } from "../../packages/client/src/express.ts";
import { Gatehouse } from "../../packages/client/src/gatehouse.ts";
import { eachProduct, withClientScene } from "../support/client/scene.ts";
import { holdCases } from "./hold_cases.ts";
import { keyCases, recordsExactly, recordsSocket } from "./key_cases.ts";
import { modelCases } from "./model_cases.ts";
import { opensSocketForUsers, passesPreflight, sessionCases } from "./session_cases.ts";

Deno.test("the middlewares", (t) =>
  withClientScene(async (scene) => {
    await eachProduct(t, scene, {
      requireSession: sessionCases,
      requireKey: { ...keyCases, ...holdCases, ...modelCases },
    });
    const step = (name: string, run: (given: typeof scene) => Promise<void>) =>
      t.step(name, () => run(scene));
    await step("CORS middleware that runs before responds to preflights", passesPreflight);
    await step("only users open a WebSocket", opensSocketForUsers);
    await step("opening a WebSocket with a key is recorded", recordsSocket);
    await step(
      "concurrent requests to all products record exactly what fits into a hard limit",
      recordsExactly,
    );
  }));

Deno.test("options without a value, such as that of an unset variable, throw when the middleware is created", () => {
  const gatehouse = new Gatehouse({ url: "http://localhost:8000", operatorToken: "unused" });
  const meter = { product: "tiles", metric: "requests" };
  for (const value of [undefined, null, "", false] as never[]) {
    for (const name of ["gatehouse", "role", "organization", "publicUrl", "signInUrl"]) {
      assert.throws(() => requireSession({ gatehouse, [name]: value }), TypeError, name);
    }
    for (const name of ["gatehouse", "permission", "meter", "limit", "keyFrom", "addressFrom"]) {
      if (name === "limit" && value === false) continue;
      assert.throws(() => requireKey({ gatehouse, meter, [name]: value }), TypeError, name);
    }
  }
  assert.throws(() => requireSession({ gatehouse, role: "admin" as never }), TypeError);
  for (const url of ["app.example.com", "app.example.com:443", "ftp://app.example.com"]) {
    assert.throws(() => requireSession({ gatehouse, publicUrl: url }), TypeError, url);
    assert.throws(() => requireSession({ gatehouse, signInUrl: url }), TypeError, url);
  }
  assert.throws(() => requireKey({ gatehouse, limit: true }), TypeError);
});

Deno.test("unknown options throw when the middleware is created", () => {
  const gatehouse = new Gatehouse({ url: "http://localhost:8000", operatorToken: "unused" });
  const meter = { product: "tiles", metric: "requests" };
  const misspelled = { ...meter, quanity: () => 5 };
  const unknown = (name: string) => ({ name: "TypeError", message: new RegExp(`^${name} is not an option`) });
  assert.throws(() => requireSession({ gatehouse, roles: "ADMIN" } as never), unknown("roles"));
  assert.throws(() => requireKey({ gatehouse, permissions: "tiles:read" } as never), unknown("permissions"));
  for (const options of [{ meter: misspelled }, { meter, limit: misspelled }, { limit: misspelled }]) {
    assert.throws(() => requireKey({ gatehouse, ...options }), unknown("quanity"));
  }
});

Deno.test("requireKey records properties, with the check and after the response", async () => {
  const sent: unknown[] = [];
  const verification = { valid: true, code: "VALID", apiKey: { id: "key_1" }, organization: {}, limits: [] };
  const fetch = (_input: unknown, init?: RequestInit) => {
    sent.push(JSON.parse(String(init?.body)));
    return Promise.resolve(Response.json(verification));
  };
  const gatehouse = new Gatehouse({
    ...{ url: "https://auth.example.com", operatorToken: "token", fetch },
    meter: { onProblem() {} },
  });
  const meter = {
    ...{ product: "tiles", metric: "requests" },
    properties: (request: Request, response?: Response) => ({
      region: new URL(request.url).searchParams.get("region") ?? "",
      ...response && { status: String(response.status) },
    }),
  };
  const ask = (limit: { limit?: true }) =>
    protect({ gatehouse, meter, ...limit }, () => new Response("served"))(
      new Request("https://app.example.com?region=eu", { headers: { authorization: "Bearer key" } }),
    );
  await ask({ limit: true });
  await ask({});
  await gatehouse.meter.flush({ timeoutMs: 1_000 });
  await gatehouse.close({ timeoutMs: 0 });
  const propertiesIn = ({ usage, records }: { usage?: object; records?: object[] }) =>
    [usage, records?.[0]].map((one) => (one as { properties?: unknown } | undefined)?.properties ?? null);
  assert.deepEqual((sent as Parameters<typeof propertiesIn>[0][]).slice(0, 3).map(propertiesIn), [
    [{ region: "eu" }, null],
    [null, null],
    [null, { region: "eu", status: "200" }],
  ]);
});

Deno.test("handlers of Express without the middleware get an error instead of no session", () => {
  assert.throws(() => sessionOf({}), /requireSession did not run/);
  assert.throws(() => apiKeyOf({}), /requireKey did not run/);
});

Deno.test("a quantity function that returns no number records nothing, and the request is served", async () => {
  const verification = { valid: true, code: "VALID", apiKey: { id: "key_1" }, organization: {}, limits: [] };
  const gatehouse = new Gatehouse({
    url: "https://auth.example.com",
    operatorToken: "token",
    fetch: () => Promise.resolve(Response.json(verification)),
    meter: { onProblem() {} },
  });
  const respond = async (quantity: unknown) => {
    const meter = { product: "tiles", metric: "requests", quantity: quantity as () => number };
    const handle = protect({ gatehouse, meter }, () => new Response("served"));
    const request = new Request("https://app.example.com", { headers: { authorization: "Bearer key" } });
    return await (await handle(request)).text();
  };
  for (const none of [() => {}, () => "7", (_request: Request, _response: Response) => NaN]) {
    assert.equal(await respond(none), "served");
  }
  const { rejected, waiting } = gatehouse.meter.stats();
  assert.deepEqual({ rejected, waiting }, { rejected: 3, waiting: 0 });
  await gatehouse.close({ timeoutMs: 0 });
});

Deno.test("requireKey and verify() say the client's address, if they know it", async () => {
  const sent: unknown[] = [];
  const verification = { valid: false, code: "ADDRESS_DENIED", apiKey: null, organization: null, limits: [] };
  const fetch = (_input: unknown, init?: RequestInit) => {
    sent.push(JSON.parse(String(init?.body)).address);
    return Promise.resolve(Response.json(verification));
  };
  const gatehouse = new Gatehouse({ url: "http://localhost:8000", operatorToken: "token", fetch });
  await gatehouse.verify("service_live_1", { address: "203.0.113.7" });
  await gatehouse.verify("service_live_1");
  const request = new Request("http://localhost/", { headers: { authorization: "Bearer service_live_1" } });
  const handler = () => new Response();
  const statuses = [
    await protect({ gatehouse }, handler)(request),
    await protect({ gatehouse, addressFrom: () => "203.0.113.8" }, handler)(request),
  ].map(({ status }) => status);
  assert.deepEqual(statuses, [401, 401]);
  const ofExpress = {
    ...{ method: "GET", originalUrl: "/", protocol: "http", ip: "203.0.113.9", params: {}, query: {} },
    headers: { host: "localhost", authorization: "Bearer service_live_1" },
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  const response = { statusCode: 0, headersSent: false, setHeader() {}, end: () => resolve(), once() {} };
  requireKey({ gatehouse })(ofExpress, response as never, () => {});
  await promise;
  assert.deepEqual(sent, ["203.0.113.7", undefined, undefined, "203.0.113.8", "203.0.113.9"]);
});
