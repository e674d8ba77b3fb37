// Bodies that never end: a timely response, a closed connection, and little read from unknown senders.
import assert from "node:assert/strict";
import { generateApiKey } from "../../domain/keys/api_key.ts";
import { anonymousBodyBytesMax, bodyReadTimeoutMs, unfinishedBodyGraceMs } from "../../domain/limits.ts";
import { assertError, createTestKey, type TestApp, testApp } from "../support/app/app.ts";
import { type Connection, connectTo, requestText } from "../support/network/connection.ts";
import { poll } from "../support/runner/poll.ts";
import { realTest } from "../support/app/real_app.ts";

const json = { "content-type": "application/json" };

/** Advances the clock and checks deadlines, as the running program does, until a condition is true. */
async function pass(test: TestApp, ms: number, until: () => boolean): Promise<void> {
  await poll(() => {
    if (until()) return true;
    test.advance(ms);
    test.services.deadlines.sweep();
    return false;
  });
}

/** Sends part of a body and waits for the timeout response. */
async function unfinished(
  test: TestApp,
  baseUrl: string,
  options: { path: string; headers?: Readonly<Record<string, string>>; declared?: number },
): Promise<Connection> {
  const length = options.declared === undefined
    ? { "transfer-encoding": "chunked" }
    : { "content-length": String(options.declared) };
  const headers = { origin: test.config.baseUrl.origin, ...json, ...options.headers, ...length };
  const body = options.declared === undefined ? '5\r\n{"a":' : '{"a":';
  const isRead = nextWait(test);
  const connection = await connectTo(baseUrl, requestText("POST", options.path, { headers, body }));
  await isRead;
  // Once, so that the body isn't too late for the connection, too.
  test.advance(bodyReadTimeoutMs);
  test.services.deadlines.sweep();
  await poll(() => connection.received().includes("request_timeout"));
  return connection;
}

/** Waits until the program waits for something with a deadline. */
function nextWait({ services: { deadlines } }: TestApp): Promise<void> {
  const within = deadlines.within;
  return new Promise((resolve) => {
    deadlines.within = (...args) => {
      deadlines.within = within;
      resolve();
      return deadlines.within(...args);
    };
  });
}

realTest("closes the connection after the response to a body 10 seconds late", async (test, baseUrl) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const requests = [
    { path: "/api/auth/sign-in", declared: 100 },
    { path: "/api/auth/sign-in" },
    { path: "/api/v1/usage", headers: { authorization: `Bearer ${fullKey}` }, declared: 100 },
    { path: "/api/v1/usage", headers: { authorization: `Bearer ${fullKey}` }, declared: 1_000_000 },
    { path: "/api/v1/usage/batch", headers: { authorization: `Bearer ${fullKey}` } },
  ];
  for (const request of requests) {
    const connection = await unfinished(test, baseUrl, request);
    assert.match(connection.received(), /^HTTP\/1\.1 408 /);
    assert.match(connection.received(), /\r\nconnection: close\r\n/);
    await pass(test, unfinishedBodyGraceMs, () => connection.isClosed());
  }
});

realTest("completes the response to a body that arrives just after the deadline", async (test, baseUrl) => {
  const connection = await unfinished(test, baseUrl, { path: "/api/auth/sign-in", declared: 7 });
  await connection.send("1}");
  await poll(() => connection.isClosed());
  assert.match(connection.received(), /\r\n0\r\n\r\n$/, "the last chunk");
});

realTest("also closes the connection of a late form", async (test, baseUrl) => {
  const headers = {
    origin: test.config.baseUrl.origin,
    "content-type": "application/x-www-form-urlencoded",
    "content-length": "100",
  };
  const connection = await connectTo(
    baseUrl,
    requestText("POST", "/sign-in", { headers, body: "email=ada" }),
  );
  await pass(test, bodyReadTimeoutMs, () => connection.isClosed());
  assert.match(connection.received(), /^HTTP\/1\.1 408 /);
});

testApp("looks up a key before reading more than 16 KiB of a body", async (test) => {
  const person = await test.signUp();
  const { fullKey } = await createTestKey(test, person);
  const revoked = await createTestKey(test, person);
  await test.send(`/api/portal/api-keys/${revoked.id}`, { method: "DELETE", cookie: person.cookie });
  for (const declared of [true, false]) {
    for (const apiKey of [revoked.fullKey, fullKey]) {
      let chunks = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          chunks++;
          controller.enqueue(new TextEncoder().encode(" ".repeat(1024)));
          if (chunks === 40) controller.close();
        },
      }, { highWaterMark: 0 });
      const length = declared ? { "content-length": String(40 * 1024) } : { "transfer-encoding": "chunked" };
      const response = await test.send("/api/v1/usage/batch", {
        method: "POST",
        apiKey,
        body,
        headers: { ...json, ...length },
      });
      if (apiKey === fullKey) {
        await assertError(response, 400, "malformed_request");
        assert.equal(chunks, 40);
      } else {
        await assertError(response, 401, "invalid_api_key");
        // Without a declared size, a body is known to be large only once that much has arrived.
        const readMax = declared ? 0 : anonymousBodyBytesMax / 1024 + 1;
        assert.ok(chunks <= readMax, `${chunks} KiB were read`);
        assert.equal(response.headers.get("connection"), "close");
      }
    }
  }
});

testApp("reads at most 16 KiB from unknown senders, and closes if it doesn't read all", async (test) => {
  const person = await test.signUp();
  const large = JSON.stringify({ name: "a".repeat(anonymousBodyBytesMax) });
  const send = (path: string, cookie?: string) =>
    test.send(path, {
      method: "POST",
      body: large,
      headers: json,
      ...(cookie === undefined ? {} : { cookie }),
    });
  for (const path of ["/api/auth/sign-in", "/api/auth/sign-up", "/api/auth/password/forgot"]) {
    await assertError(await send(path), 413, "body_too_large");
  }
  const form = await test.send("/sign-in", { form: { email: "a".repeat(anonymousBodyBytesMax) } });
  assert.equal(form.status, 413);
  await assertError(await send("/api/portal/api-keys"), 401, "unauthenticated");
  await assertError(await send("/api/portal/api-keys", person.cookie), 422, "validation_failed");
  // A response before the end of the body announces that the connection closes.
  const { fullKey } = await createTestKey(test, person);
  const sendLarge = (apiKey: string) =>
    test.send("/api/v1/usage", {
      apiKey,
      body: JSON.stringify({ productSlug: "tiles", metric: "requests", quantity: 1 }),
      headers: { ...json, "content-length": String(anonymousBodyBytesMax + 1) },
    });
  const rejected = await sendLarge(generateApiKey().fullKey);
  await assertError(rejected, 401, "invalid_api_key");
  assert.equal(rejected.headers.get("connection"), "close");
  const accepted = await sendLarge(fullKey);
  assert.equal(accepted.status, 201, await accepted.text());
  assert.equal(accepted.headers.get("connection"), null);
});
