// The OpenAPI document is complete and valid, and its examples match their schemas. tests/support/app/documented.ts checks the
// responses of all other tests against it.
import assert from "node:assert/strict";
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import { type ErrorCode, errorStatuses } from "../../../../domain/errors.ts";
import {
  bodyBytesMax,
  headerCharactersMax,
  urlCharactersMax,
  usageFilterValuesMax,
} from "../../../../domain/limits.ts";
import { allEventTypes } from "../../../../domain/outbox/event_types.ts";
import { errorMessages } from "../../../../routes/api/openapi/error_messages.ts";
import { errorCodesOf } from "../../../../routes/api/openapi/error_responses.ts";
import {
  exampleOf,
  type JsonSchema,
  type JsonSchemas,
  resolved,
} from "../../../../routes/api/openapi/examples.ts";
import { type OpenApiDocument, operationsOf } from "../../../../routes/api/openapi/openapi.ts";
import type { AppEnv } from "../../../../routes/env.ts";
import {
  createTestKey,
  type SendOptions,
  type TestApp,
  testApp,
  testPassword,
} from "../../../support/app/app.ts";
import { assertDocumented, documentOf, newAjv, strict } from "../../../support/app/documented.ts";

let document: OpenApiDocument | undefined;

/** @returns The document that is served, which is the same for every app. */
async function served(test: TestApp): Promise<OpenApiDocument> {
  return document ??= await (await test.send("/api/openapi.json")).json() as OpenApiDocument;
}

testApp("the OpenAPI document has exactly the mounted routes, and all types of events", async (test) => {
  const mounted = test.app.routes
    .filter(({ method, path }) => method !== "ALL" && /^\/(api|health|metrics)(\/|$)/.test(path))
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  const document = await served(test);
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  );
  // One route handles `{id}`, `{id}.csv` and `{id}-values.csv`.
  const routes = described.map((route) => route.replace(/\}(-values)?\.csv/, "}"));
  assert.deepEqual([...new Set(routes)].sort(), [...new Set(mounted)].sort());
  assert.ok(described.includes("GET /metrics") && described.includes("GET /api/openapi.json"));
  assert.deepEqual(Object.keys(document.webhooks), allEventTypes);
});

testApp("every operation has a unique id, a known tag and a documented security scheme", async (test) => {
  const document = await served(test);
  const operations = operationsOf(document);
  const names = operations.map(({ operationId }) => operationId);
  assert.equal(new Set(names).size, names.length, names.join());
  for (const { operationId, tags, summary, security } of operations) {
    assert.match(operationId, /^[a-z][A-Za-z0-9]+$/);
    assert.ok(document.tags.some(({ name }) => name === tags[0]), operationId);
    assert.match(summary, /^[A-Z].{5,70}[^.]$/, operationId);
    for (const name of security.flatMap(Object.keys)) {
      assert.ok(document.components.securitySchemes[name]?.description, `${operationId} ${name}`);
    }
  }
  // Operations with optional authentication say so, or clients would not send it.
  const securityOf = (name: string) => operations.find(({ operationId }) => operationId === name)?.security;
  for (const name of ["getSessionUser", "signOut"]) {
    assert.deepEqual(securityOf(name), [{ session: [] }, {}]);
  }
  assert.deepEqual(securityOf("getAuthForward"), [{ session: [] }, { apiKey: [] }]);
  assert.deepEqual(securityOf("signIn"), []);
});

testApp("the document explains every error code", async (test) => {
  const { info } = await served(test);
  for (const [code, status] of Object.entries(errorStatuses)) {
    assert.ok(info.description.includes(`| \`${code}\` | ${status} | `), code);
  }
});

testApp("examples of errors are messages that the API sends", async (test) => {
  const { cookie, email, userId, organizationId } = await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, { cookie, email, userId, organizationId });
  const usage = (quantity: number) => ({ productSlug: "a", metric: "b", quantity, idempotencyKey: "1" });
  await test.send("/api/v1/usage", { apiKey, json: usage(1) });
  const signUp = { name: "Ada", email, password: testPassword };
  const member = `/api/portal/organizations/${organizationId}/members/${userId}`;
  const keys = "/api/portal/api-keys";
  const requests: [ErrorCode, path: string, options?: SendOptions][] = [
    ["malformed_request", keys, { cookie, body: "{", headers: { "content-type": "application/json" } }],
    ["unauthenticated", keys],
    ["invalid_credentials", "/api/auth/sign-in", { json: { email, password: "wrong" } }],
    ["invalid_api_key", "/api/v1/usage"],
    ["cross_site", keys, { cookie, json: {}, headers: { origin: "https://evil.example" } }],
    ["not_found", `${keys}/key_1`, { cookie, method: "DELETE" }],
    ["invalid_token", "/api/auth/password/reset", { json: { token: "1", password: testPassword } }],
    ["method_not_allowed", keys, { cookie, method: "PUT" }],
    ["email_taken", "/api/auth/sign-up", { json: signUp }],
    ["last_owner", member, { cookie, method: "PATCH", json: { role: "MEMBER" } }],
    ["two_step_state", "/api/portal/account/two-step/totp", { cookie, method: "DELETE" }],
    ["idempotency_conflict", "/api/v1/usage", { apiKey, json: usage(2) }],
    ["body_too_large", keys, { cookie, json: { name: "a".repeat(bodyBytesMax) } }],
    ["uri_too_long", `${keys}?a=${"a".repeat(urlCharactersMax)}`],
    ["unsupported_media_type", keys, { cookie, form: {} }],
    ["validation_failed", keys, { cookie, json: {} }],
    ["range_too_long", "/api/v1/usage?from=2025-01-01&window=hour", { apiKey }],
    ["headers_too_large", keys, { headers: { "x-long": "a".repeat(headerCharactersMax) } }],
  ];
  for (const [code, path, options] of requests) {
    const { error } = await (await test.send(path, options)).json();
    const message = error.message?.replace(test.config.baseUrl.origin, "https://auth.example.com");
    assert.deepEqual({ code: error.code, message }, { code, message: errorMessages[code] });
  }
});

testApp("every operation lists the errors that follow from its input", async (test) => {
  for (
    const { operationId, security, requestBody, responses, parameters } of operationsOf(await served(test))
  ) {
    if (/Liveness|Readiness|Metrics|OpenApi/.test(operationId)) continue;
    const codes = Object.values(responses).flatMap(({ $ref }) =>
      $ref === undefined ? [] : errorCodesOf($ref)
    );
    const wanted: ErrorCode[] = [
      "uri_too_long",
      "headers_too_large",
      "internal",
      "unavailable",
      "validation_failed",
    ];
    if (requestBody !== undefined) {
      wanted.push("malformed_request", "request_timeout", "body_too_large", "unsupported_media_type");
    }
    const isPublic = security.some((one) => Object.keys(one).length === 0);
    if (!isPublic && security.some((one) => "session" in one)) wanted.push("unauthenticated");
    if (security.some((one) => "apiKey" in one)) wanted.push("invalid_api_key", "rate_limited");
    if (parameters?.some((one) => one.in === "path")) wanted.push("not_found");
    assert.deepEqual(wanted.filter((code) => !codes.includes(code)), [], operationId);
  }
});

testApp("every response lists its headers", async (test) => {
  const document = await served(test);
  const headersOf = (name: string, status: string) =>
    Object.keys(
      operationsOf(document).find(({ operationId }) => operationId === name)?.responses[status]?.headers ??
        {},
    );
  assert.deepEqual(headersOf("recordUsage", "201"), ["X-Request-Id", "RateLimit", "RateLimit-Policy"]);
  assert.deepEqual(headersOf("listApiKeys", "200"), ["X-Request-Id"]);
  assert.deepEqual(headersOf("getAuthForward", "302"), ["X-Request-Id", "Location"]);
  const ada = await test.signUp();
  const { headers } = await test.send("/api/auth/forward", { cookie: ada.cookie });
  const sent = [...headers.keys()].filter((name) => name.startsWith("remote-"));
  const named = headersOf("getAuthForward", "200").map((name) => name.toLowerCase());
  assert.deepEqual(named.filter((name) => name.startsWith("remote-")).sort(), sent.sort());
  assert.equal(sent.length, 10);
  for (const { operationId, responses } of operationsOf(document)) {
    for (const [status, { $ref, headers }] of Object.entries(responses)) {
      assert.ok($ref !== undefined || headers?.["X-Request-Id"], `${operationId} ${status}`);
    }
  }
});

testApp("every parameter and every field has a description", async (test) => {
  const { components: { schemas }, ...document } = await served(test);
  const undescribed: string[] = [];
  const visit = (given: JsonSchema, place: string): void => {
    if (given.$ref !== undefined) return;
    const parts = [...given.allOf ?? [], ...given.anyOf ?? [], ...given.oneOf ?? []];
    parts.forEach((part) => visit(part, place));
    if (given.items !== undefined) visit(given.items, place);
    for (const [name, field] of Object.entries(given.properties ?? {})) {
      const isLeaf = resolved(field, schemas).properties === undefined && field.items === undefined &&
        [...field.anyOf ?? [], ...field.oneOf ?? []].length === 0;
      if (isLeaf && resolved(field, schemas).description === undefined) undescribed.push(`${place}.${name}`);
      visit(field, `${place}.${name}`);
    }
  };
  for (const [name, schema] of Object.entries(schemas)) visit(schema, name);
  for (
    const { operationId, parameters, responses } of operationsOf(
      { ...document, components: { schemas } } as OpenApiDocument,
    )
  ) {
    for (const { name, description } of parameters ?? []) {
      if (description === undefined) undescribed.push(`${operationId} ${name}`);
    }
    for (const { content } of Object.values(responses)) {
      for (const { schema } of Object.values(content ?? {})) {
        if (schema !== undefined) visit(schema, operationId);
      }
    }
  }
  assert.deepEqual(undescribed, []);
});

testApp("every example matches its schema, and request examples pass the check of requests", async (test) => {
  const document = await served(test);
  const { schemas, responses } = document.components;
  const ajv = newAjv();
  let count = 0;
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();
  const fits = (schema: JsonSchema, example: unknown, what: string): void => {
    count++;
    const key = JSON.stringify(schema);
    const validate = validators.get(key) ?? ajv.compile(strict(schema, schemas));
    validators.set(key, validate);
    assert.ok(validate(example), `${what}: ${ajv.errorsText(validate.errors)} ${JSON.stringify(example)}`);
    assert.doesNotMatch(JSON.stringify(example), /:"text"/, `${what} has a field without an example`);
  };
  for (const operation of operationsOf(document)) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)];
    for (const { schema, example } of bodies.flatMap((body) => Object.values(body?.content ?? {}))) {
      if (schema?.type !== "string" && schema !== undefined) fits(schema, example, operation.operationId);
    }
  }
  for (const [name, { content }] of Object.entries(responses)) {
    const { schema, examples } = Object.values(content ?? {})[0] ?? {};
    assert.ok(schema);
    for (const { value } of Object.values(examples ?? {})) fits(schema, value, name);
  }
  assert.ok(count > 100, String(count));
  for (const [operationId, schema] of checksOf(test)) {
    const body = operationsOf(document).find((one) => one.operationId === operationId)?.requestBody;
    const result = schema.safeParse(body?.content["application/json"]?.example);
    assert.ok(result.success, `${operationId} ${result.error}`);
  }
});

testApp("the API accepts exactly what the schemas of the document accept", async (test) => {
  const document = await served(test);
  const ajv = newAjv();
  const { schemas } = document.components;
  const key = await createTestKey(test, await test.signUp());
  const operation = (name: string) => operationsOf(document).find(({ operationId }) => operationId === name);
  const record = { productSlug: "tiles", metric: "requests", quantity: 1 };
  const event = { specversion: "1.0", id: "1", source: "/tiles", type: "requests" };
  const fields = (count: number, name = "p") =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [name + n, "v"]));
  const bodies: readonly [type: string, body: unknown, isAccepted: boolean][] = [
    ["application/json", { ...record, properties: fields(16) }, true],
    ["application/json", { ...record, properties: fields(17) }, false],
    ["application/json", { ...record, properties: { ["n".repeat(64)]: "v".repeat(255) } }, true],
    ["application/json", { ...record, properties: { ["n".repeat(65)]: "v" } }, false],
    ["application/json", { ...record, properties: { "": "v" } }, false],
    ["application/json", { ...record, quantity: 2 ** 53 }, false],
    ["application/cloudevents+json", { ...event, data: { ...fields(16), quantity: "1.50000000" } }, true],
    ["application/cloudevents+json", { ...event, data: { quantity: "1e3" } }, false],
    ["application/cloudevents+json", { ...event, data: { quantity: 2 ** 53 } }, false],
    ["application/cloudevents+json", { ...event, data: { region: "v".repeat(256) } }, false],
    ["application/cloudevents+json", { ...event, data: { region: ["v"] } }, false],
    ["application/cloudevents+json", { ...event, data: { ["n".repeat(65)]: "v" } }, false],
    ["application/cloudevents+json", { ...event, datacontenttype: "Application/Acme.v1+JSON; a=b" }, true],
    ["application/cloudevents+json", { ...event, datacontenttype: "text/plain" }, false],
  ];
  for (const [index, [type, body, isAccepted]] of bodies.entries()) {
    const what = `${type} ${JSON.stringify(body).slice(0, 200)}`;
    const schema = operation("recordUsage")?.requestBody?.content[type]?.schema ?? {};
    const sent = type.includes("cloudevents") ? { ...body as typeof event, id: String(index) } : body;
    const validate = ajv.compile(strict(schema, schemas));
    assert.equal(validate(sent), isAccepted, what);
    const headers = { "content-type": type };
    const response = await test.send("/api/v1/usage", { apiKey: key.fullKey, headers, json: sent });
    assert.equal(response.status, isAccepted ? 201 : 422, what);
  }
  const tooMany = Array.from({ length: usageFilterValuesMax + 1 }, (_, n) => `m${n}`);
  const queries: readonly [
    name: string,
    address: string,
    query: Record<string, string | string[]>,
    isAccepted: boolean,
  ][] = [
    ["readUsage", "/api/v1/usage", { groupBy: ["metric", "productSlug"], window: "total" }, true],
    ["readUsage", "/api/v1/usage", { groupBy: ["metric", "subject"] }, false],
    ["readUsage", "/api/v1/usage", { metric: tooMany.slice(1) }, true],
    ["readUsage", "/api/v1/usage", { metric: tooMany }, false],
    ["readUsage", "/api/v1/usage", { metric: ["a b"] }, false],
    ["getAuthForward", "/api/auth/forward", { meter: "tiles/requests", accept: "key" }, true],
    ["getAuthForward", "/api/auth/forward", { meter: "tiles", accept: "key" }, false],
    ["getAuthForward", "/api/auth/forward", { organization: "org_1" }, false],
  ];
  for (const [name, address, query, isAccepted] of queries) {
    const parameters = operation(name)?.parameters ?? [];
    const fits = Object.entries(query).every(([one, value]) =>
      ajv.validate(parameters.find((parameter) => parameter.name === one)?.schema ?? {}, value)
    );
    assert.equal(fits, isAccepted, JSON.stringify(query));
    const pairs = Object.entries(query).flatMap(([one, values]) =>
      [values].flat().map((value) => [one, value])
    );
    const response = await test.send(`${address}?${new URLSearchParams(pairs)}`, { apiKey: key.fullKey });
    assert.equal(response.status, isAccepted ? 200 : 422, JSON.stringify(query));
  }
});

/** @returns The schemas that check request bodies, by operation. */
function checksOf(test: TestApp): [operationId: string, schema: z.ZodType][] {
  documentOf(test.app);
  return (test.app as OpenAPIHono<AppEnv>).openAPIRegistry.definitions.flatMap((definition) => {
    if (definition.type !== "route") return [];
    const { operationId = "", request } = definition.route;
    const content = request?.body?.content["application/json"] as { schema?: z.ZodType } | undefined;
    return content?.schema === undefined
      ? []
      : [[operationId, content.schema]] satisfies [string, z.ZodType][];
  });
}

Deno.test("exampleOf() builds an example from the parts and leaves out optional fields", () => {
  const schemas: JsonSchemas = { Name: { type: "string", example: "Ada" } };
  const schema: JsonSchema = {
    type: "object",
    properties: {
      name: { $ref: "#/components/schemas/Name" },
      at: { type: "string", format: "date-time" },
      list: { type: "array", items: { type: "integer", minimum: 3 } },
      ended: { type: ["string", "null"], format: "date-time" },
      maybe: { anyOf: [{ type: "null" }, { $ref: "#/components/schemas/Name" }] },
      rare: { type: "string" },
    },
    required: ["name", "at", "list", "ended", "maybe"],
  };
  assert.deepEqual(exampleOf(schema, schemas), {
    name: "Ada",
    at: "2026-11-21T14:03:11.250Z",
    list: [3],
    ended: null,
    maybe: "Ada",
  });
});

testApp("assertDocumented() rejects responses that differ from the document", async (test) => {
  const ada = await test.signUp();
  const request = (path: string) => new Request(`http://localhost:8080${path}`);
  const me = await (await test.send("/api/auth/me", { cookie: ada.cookie })).json();
  const documented = (body: unknown, status = 200) =>
    assertDocumented(test.app, request("/api/auth/me"), Response.json(body, { status }));
  await documented(me);
  await assert.rejects(documented({ ...me, extra: 1 }), /must NOT have additional properties/);
  await assert.rejects(
    documented({ ...me, user: { ...me.user, passwordHash: "x" } }),
    /additional properties/,
  );
  await assert.rejects(documented({ ...me, role: "KING" }), /allowed values/);
  await assert.rejects(documented({ authenticated: false }), /required/);
  await assert.rejects(documented(me, 201), /undocumented response/);
  const error = { error: { code: "last_owner", message: "No." }, requestId: "req_1" };
  await assert.rejects(documented(error, 503), /allowed values/);
  await documented({ ...error, error: { ...error.error, code: "unavailable" } }, 503);
  const unknown = (status: number) =>
    assertDocumented(test.app, request("/api/nothing"), Response.json(error, { status }));
  await unknown(404);
  await assert.rejects(unknown(200), /undocumented path/);
  const html = new Response("<p>", { headers: { "content-type": "text/html" } });
  await assert.rejects(assertDocumented(test.app, request("/api/auth/me"), html), /content type text\/html/);
});
