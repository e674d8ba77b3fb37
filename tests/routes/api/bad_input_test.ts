// Invalid input gets a clear error without internal details, and changes nothing.
import assert from "node:assert/strict";
import { sql } from "../../../db/engine/database.ts";
import { errorDetailsMax } from "../../../domain/limits.ts";
import { assertError, createTestKey, testApp } from "../../support/app/app.ts";
import { assertOutcome, assertRows } from "../../support/app/rows.ts";
import { mustBe, required } from "../../../routes/schemas/messages.ts";

const json = { "content-type": "application/json" };
const good = JSON.stringify({ productSlug: "a", metric: "b", quantity: 1 });

testApp("rejects bodies that are not JSON objects", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const send = (body: BodyInit, headers: Record<string, string> = json) =>
    test.send("/api/v1/usage", { method: "POST", apiKey, body, headers });
  const nested = (depth: number) =>
    good.replace("}", `,"properties":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  const invalidBytes = new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
  const texts = ["", "{", "nonsense", "{'a':1}", `${good}x`, "\ufeff" + good, '{"a":"\u0001"}'];
  for (const body of [...texts, nested(16), nested(20_000), invalidBytes]) {
    await assertOutcome(send(body), "400 malformed_request");
  }
  for (const body of ["null", "1", '"text"', "[]", "true", nested(3)]) {
    await assertError(await send(body), 422, "validation_failed");
  }
  for (const text of ["\\u0000", "\\ud800", "\\udfff\\ud800", "\\u000b", "\\u007f", "\x7f", "\x85"]) {
    for (const more of [`"properties":{"x":"${text}"}`, `"${text}":1`]) {
      const { error } = await assertError(
        await send(good.replace("}", `,${more}}`)),
        422,
        "validation_failed",
      );
      assert((error.details?.length ?? 0) > 0);
    }
  }
  const form = "application/x-www-form-urlencoded";
  for (const type of ["text/plain", form, "application/json; charset=latin1", "", "multipart/form-data"]) {
    await assertOutcome(send(good, { "content-type": type }), "415 unsupported_media_type");
  }
  await assertOutcome(send(good, { ...json, "content-encoding": "gzip" }), "415 unsupported_media_type");
  await assertOutcome(send(good, { "content-type": "Application/JSON; charset=UTF-8" }), 201);
  // What invalid bytes would become is a character like any other.
  await assertOutcome(send(good.replace("}", ',"properties":{"x":"\ufffd"}}')), 201);
  const rows = await test.opened.database.read(sql`SELECT properties FROM usage_records ORDER BY seq`);
  assert.deepEqual(rows, [{ properties: null }, { properties: '{"x":"\ufffd"}' }]);
});

testApp("distinguishes wrong types from missing fields", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const assertDetails = async (body: string, expected: Record<string, string>, type = "application/json") => {
    const options = { method: "POST", apiKey, body, headers: { "content-type": type } };
    const { error } = await assertError(await test.send("/api/v1/usage", options), 422, "validation_failed");
    const details = error.details?.map(({ path, message }) => [path, message]) ?? [];
    assert.deepEqual(Object.fromEntries(details), expected);
  };
  const [string, number, object] = [mustBe("string"), mustBe("number"), mustBe("object")];
  await assertDetails(
    '{"productSlug":5,"metric":null,"quantity":"1","properties":[]}',
    { productSlug: string, metric: string, quantity: number, properties: object },
  );
  await assertDetails('{"productSlug":"a"}', { metric: required, quantity: required });
  await assertDetails("[]", { "": object });
  const event = '{"specversion":"1.0","id":5,"source":"/a","data":"x"}';
  await assertDetails(event, { id: string, type: required, data: object }, "application/cloudevents+json");
});

testApp("rejects a body that is too large, with and without a declared length", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const large = (bytes: number) => `{"productSlug":"${"a".repeat(bytes)}"}`;
  const stream = (bytes: number) => ReadableStream.from([new TextEncoder().encode(large(bytes))]);
  for (
    const [path, body, status] of [
      ["/api/v1/usage", large(1024 * 1024), 413],
      ["/api/v1/usage", stream(1024 * 1024), 413],
      ["/api/v1/usage", large(1000), 422],
      ["/api/auth/sign-in", large(64 * 1024), 413],
      ["/api/auth/sign-in", stream(64 * 1024), 413],
    ] as const
  ) await assertOutcome(test.send(path, { method: "POST", apiKey, body, headers: json }), status);
});

testApp("stops reading a chunked body at the limit, regardless of the declared length", async (test) => {
  let chunks = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (chunks++ === 100) controller.close();
      else controller.enqueue(new Uint8Array(64 * 1024));
    },
  });
  const headers = { ...json, "content-length": "5", "transfer-encoding": "chunked" };
  const response = await test.send("/api/auth/sign-in", { method: "POST", body, headers });
  await assertError(response, 413, "body_too_large");
  assert.ok(chunks < 10, `${chunks} chunks were read`);
});

testApp("unknown paths get a 404, unsupported methods a 405 with Allow", async (test) => {
  for (const path of ["/api", "/api/v2/usage", "/api/v1/usage/x/y", "/api/auth/me/", "/api/%00", "/health"]) {
    await assertError(await test.send(path), 404, "not_found");
  }
  const wrong = [
    ["DELETE", "/api/v1/usage", "GET, HEAD, POST"],
    ["POST", "/api/auth/me", "GET, HEAD"],
    ["GET", "/api/auth/sign-in", "POST"],
    ["PUT", "/api/portal/api-keys/key_1", "DELETE, PATCH"],
    ["PATCH", "/health/live", "GET, HEAD"],
    ["BREW", "/api/auth/me", "GET, HEAD"],
  ] as const;
  for (const [method, path, allow] of wrong) {
    const response = await test.send(path, { method });
    await assertError(response, 405, "method_not_allowed");
    assert.equal(response.headers.get("allow"), allow);
  }
  const page = await test.send("/nowhere/<script>");
  assert.equal(page.status, 404);
  assert.match(page.headers.get("content-type") ?? "", /text\/html/);
  assert.doesNotMatch(await page.text(), /<script>"?\//);
});

testApp("rejects long URLs and headers first", async (test) => {
  await assertError(await test.send(`/api/auth/me?x=${"a".repeat(9000)}`), 414, "uri_too_long");
  const response = await test.send("/api/auth/me", { headers: { "x-long": "a".repeat(17_000) } });
  await assertError(response, 431, "headers_too_large");
});

testApp("every response has a request id and security headers, also errors and pages", async (test) => {
  const person = await test.signUp();
  const paths = [
    "/api/auth/me",
    "/api/nowhere",
    "/sign-in",
    "/nowhere",
    "/portal/api-keys",
    "/",
    "/health/live",
    "/api/openapi.json",
  ];
  for (const path of paths) {
    const response = await test.send(path, { cookie: person.cookie });
    await response.body?.cancel();
    assert.match(response.headers.get("x-request-id") ?? "", /^req_[0-9a-f]{32}$/, path);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    const document = {
      "content-security-policy": /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
      "referrer-policy": /^strict-origin-when-cross-origin$/,
      // Applications open these pages in a window of their own.
      "cross-origin-opener-policy": path === "/sign-in" ? /^unsafe-none$/ : /^same-origin$/,
    };
    for (const [name, form] of Object.entries(document)) {
      if (path.startsWith("/api/")) assert.equal(response.headers.has(name), false, `${name} of ${path}`);
      else assert.match(response.headers.get(name) ?? "", form, path);
    }
    assert(response.headers.has("cross-origin-resource-policy"));
    assert.equal(response.headers.has("strict-transport-security"), false);
    if (/^\/(portal|api\/auth)/.test(path)) {
      assert.match(response.headers.get("cache-control") ?? "", /no-store/, path);
    }
  }
});

testApp("returns a 503 for an unavailable database, and a 500 without details otherwise", async (test) => {
  const person = await test.signUp();
  await test.opened.database.write([{ sql: "ALTER TABLE api_keys RENAME TO gone", args: [] }]);
  const { error } = await assertError(
    await test.send("/api/portal/api-keys", { cookie: person.cookie }),
    500,
    "internal",
  );
  assert.doesNotMatch(JSON.stringify(error), /api_keys|column|table/);
  assert.match(test.logged(), /no such table: api_keys/);
  const page = await test.send("/portal/api-keys", { cookie: person.cookie });
  assert.equal(page.status, 500);
  assert.doesNotMatch(await page.text(), /no such table/);
  // A closed writer can't write.
  await test.opened.database.close();
  const response = await test.send("/api/auth/sign-in/passkey/options", { json: {} });
  await assertError(response, 503, "unavailable");
  assert.equal(response.headers.get("retry-after"), "1");
  assert.equal((await test.send("/health/live")).status, 200);
});

testApp("the error of a batch lists all records with timestamps out of range", async (test) => {
  const { fullKey: apiKey } = await createTestKey(test, await test.signUp());
  const record = { productSlug: "tiles", metric: "requests", quantity: 1 };
  const timestamp = new Date(test.now() - 36 * 24 * 3_600_000).toISOString();
  const records = Array.from({ length: 150 }, () => [{ ...record, timestamp }, record]).flat();
  const faults = Array.from({ length: errorDetailsMax }, (_, n) => `records[${2 * n}].timestamp`);
  const request = "POST /api/v1/usage/batch";
  await assertRows(test, { apiKey }, [[request, { records }, `422 validation_failed ${faults.join(" ")}`]]);
});
