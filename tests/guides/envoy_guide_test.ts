// docs/envoy.md: the requests that Envoy makes with its configuration are judged as it says.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix -- test packages stay out of the binary
import { parse } from "npm:yaml@2.9.1";
import { createTestKey } from "../support/app/app.ts";
import { realTest } from "../support/app/real_app.ts";
import { addLimit } from "../support/meter/limits.ts";
import { assertStops, hostileHeaders, identityOf, ledgerOf } from "../support/network/gateway_cases.ts";
import { requestOf, throughEnvoy } from "../support/network/gateways.ts";
import { readGuide } from "../support/runner/guides.ts";

interface Pattern {
  readonly exact?: string;
  readonly prefix?: string;
}

const { static_resources: { listeners: [listener] } } = parse((await readGuide("envoy.md"))("configuration"));
const manager = listener.filter_chains[0].filters[0].typed_config;
const [authorization, router] = manager.http_filters;
const config = authorization.typed_config;
const service = config.http_service;
const upstream: Pattern[] = service.authorization_response.allowed_upstream_headers.patterns;
const options = {
  target: () => service.path_override as string,
  sent: config.allowed_headers.patterns.map(({ exact }: Pattern) => exact),
  setUpstream: (name: string) => upstream.some(({ prefix = "-" }) => name.startsWith(prefix)),
  removed: manager.route_config.virtual_hosts[0].request_headers_to_remove as string[],
  statusOnError: { ServiceUnavailable: 503 }[config.status_on_error.code as string] ?? 0,
  rejectsUnderscores:
    manager.common_http_protocol_options.headers_with_underscores_action === "REJECT_REQUEST",
};

realTest("Envoy passes on and counts what fits, by any method", async (test, baseUrl) => {
  assert.deepEqual([authorization.name, router.name], [
    "envoy.filters.http.ext_authz",
    "envoy.filters.http.router",
  ]);
  const ada = await test.signUp();
  const { id, fullKey } = await createTestKey(test, ada, {
    permissions: ["usage:read", "usage:write", "maps:render"],
  });
  const counted = ledgerOf(test, fullKey);
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"];
  await addLimit(test, {}, { productSlug: "tiles", per: "day", quantity: methods.length, mode: "hard" });
  const key = ["Authorization", `Bearer ${fullKey}`] as const;
  for (const method of methods) {
    const outcome = await throughEnvoy(baseUrl, requestOf([key, ...hostileHeaders], { method }), options);
    assert("passed" in outcome, `${method} ${JSON.stringify(outcome)}`);
    assert.deepEqual(identityOf(outcome.passed), [
      ada.organizationId,
      id,
      "live",
      "maps:render,usage:read,usage:write",
    ]);
  }
  assert.equal(await counted(), methods.length);
  for (const method of ["GET", "POST"]) {
    const full = await throughEnvoy(baseUrl, requestOf([key], { method }), options);
    assert("denied" in full);
    assert.equal(full.denied.status, 429);
    const waitMs = Date.UTC(2026, 10, 22) - test.now();
    assert.equal(full.denied.headers.get("retry-after"), String(Math.ceil(waitMs / 1000)));
    assert.equal(JSON.parse(full.denied.body).error.details[0].remaining, 0);
  }
  assert.equal(await counted(), methods.length);
});

realTest("Envoy lets no one in without a key that works", async (test, baseUrl) => {
  await assertStops(test, (headers, rest) => throughEnvoy(baseUrl, requestOf(headers, rest), options));
  const underscores = await throughEnvoy(baseUrl, requestOf([["Remote_User", "usr_forged"]]), options);
  assert("denied" in underscores && underscores.denied.status === 400);
});

realTest(
  "only path_override keeps the client's path and query away from Gatehouse",
  async (test, baseUrl) => {
    const { fullKey } = await createTestKey(test, await test.signUp());
    const path = service.path_override as string;
    const isDenied = async (client: string, target: (client: string) => string) => {
      const own = requestOf([["Authorization", `Bearer ${fullKey}`]], { method: "GET", target: client });
      return "denied" in await throughEnvoy(baseUrl, own, { ...options, target });
    };
    assert.equal(await isDenied("/health/live", (client) => client), false);
    assert.equal(await isDenied("/health/live", () => path), true);
    for (const prefix of [path, `${path.split("?")[0]}`, "/api/v1/keys/forward?organization="]) {
      for (const client of ["/v1/tiles", "/../../../../health/live", "/?meter=a/b", "&meter=a/b"]) {
        assert.equal(await isDenied(client, (own) => prefix + own), true, prefix + client);
      }
    }
  },
);

Deno.test("Envoy denies everything while Gatehouse is down", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const outcome = await throughEnvoy(`http://127.0.0.1:${port}`, requestOf([]), options);
  assert("denied" in outcome && outcome.denied.status === 503);
  assert.equal(config.failure_mode_allow, undefined);
});
