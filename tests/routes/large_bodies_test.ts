// Large bodies in progress: each sender has part of the room, small bodies need none, and the response frees it.
import assert from "node:assert/strict";
import {
  anonymousBodyBytesMax,
  bodyReadTimeoutMs,
  largeBodiesBytesMax,
  smallBodyBytesMax,
  usageBodyBytesMax,
} from "../../domain/limits.ts";
import { createTestKey, type TestApp } from "../support/app/app.ts";
import { realTest } from "../support/app/real_app.ts";
import { connectTo, requestText } from "../support/network/connection.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { poll } from "../support/runner/poll.ts";

const path = "/api/v1/usage/batch";
const perSender = largeBodiesBytesMax / 2 / usageBodyBytesMax;
const record = { productSlug: "tiles", metric: "requests", quantity: 1 };

function headersOf(test: TestApp, fullKey: string) {
  return {
    origin: test.config.baseUrl.origin,
    "content-type": "application/json",
    authorization: `Bearer ${fullKey}`,
  };
}

realTest("rejects only a sender's large bodies beyond its part of the room", async (test, baseUrl) => {
  const { fullKey: loud } = await createTestKey(test, await test.signUp());
  const { fullKey: quiet } = await createTestKey(test, await test.signUp());
  const send = (fullKey: string, bytes: number) => {
    const text = JSON.stringify({ records: [record] });
    const body = text.padEnd(bytes);
    return fetch(`${baseUrl}${path}`, { method: "POST", headers: headersOf(test, fullKey), body });
  };
  const statusOf = async (fullKey: string, bytes: number) => {
    const response = await send(fullKey, bytes);
    await response.body?.cancel();
    return response.status;
  };
  const chunked = { ...headersOf(test, loud), "transfer-encoding": "chunked" };
  const declared = { ...headersOf(test, loud), "content-length": String(usageBodyBytesMax) };
  const part = "a".repeat(usageBodyBytesMax - 100);
  const open = await Promise.all(
    Array.from({ length: perSender }, (_, n) =>
      connectTo(
        baseUrl,
        n % 2 === 0
          ? requestText("POST", path, { headers: declared, body: "{" })
          : requestText("POST", path, {
            headers: chunked,
            body: `${part.length.toString(16)}\r\n${part}\r\n`,
          }),
      )),
  );
  await poll(async () => await statusOf(loud, usageBodyBytesMax) === 503);
  const rejected = await send(loud, usageBodyBytesMax);
  assert.equal(rejected.headers.get("retry-after"), "1");
  assert.equal((await rejected.json()).error.code, "unavailable");
  assert.equal(await statusOf(loud, smallBodyBytesMax), 201);
  assert.equal(await statusOf(loud, anonymousBodyBytesMax), 503);
  assert.equal(await statusOf(quiet, usageBodyBytesMax), 201);
  for (const connection of open) connection.close();
  await poll(async () => await statusOf(loud, usageBodyBytesMax) === 201);
});

realTest("large bodies of collectors leave room for those of operators", async (test, baseUrl) => {
  const { fullToken: collector } = await newOperatorToken(test, ["usage:collect"]);
  const { fullToken: operator } = await newOperatorToken(test, ["usage:write"]);
  const { organizationId } = await test.signUp();
  const statusOf = async (path: string, token: string, json: unknown) => {
    const body = JSON.stringify(json).padEnd(usageBodyBytesMax);
    const response = await fetch(`${baseUrl}${path}`, {
      method: "POST",
      headers: headersOf(test, token),
      body,
    });
    await response.body?.cancel();
    return response.status;
  };
  const headers = { ...headersOf(test, collector), "content-length": String(usageBodyBytesMax) };
  const open = await Promise.all(
    Array.from(
      { length: perSender },
      () => connectTo(baseUrl, requestText("POST", "/api/v1/events", { headers, body: "[" })),
    ),
  );
  await poll(async () => await statusOf("/api/v1/events", collector, []) === 503);
  const status = await statusOf("/api/operator/usage", operator, {
    records: [{ ...record, organizationId }],
  });
  for (const connection of open) connection.close();
  assert.equal(status, 201);
});

realTest("a body that goes on after its request has timed out takes no room", async (test, baseUrl) => {
  const { fullKey } = await createTestKey(test, await test.signUp());
  const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${"a".repeat(bytes)}\r\n`;
  const headers = { ...headersOf(test, fullKey), "transfer-encoding": "chunked" };
  const open = [];
  for (let n = 0; n < perSender + 1; n++) {
    const connection = await connectTo(
      baseUrl,
      requestText("POST", path, { headers, body: chunk(anonymousBodyBytesMax - 10) }),
    );
    open.push(connection);
    await poll(() => {
      test.advance(bodyReadTimeoutMs / 50);
      test.services.deadlines.sweep();
      return connection.received().includes("request_timeout");
    });
    await connection.send(chunk(usageBodyBytesMax / 2)).catch(() => {});
    await poll(() => {
      test.services.deadlines.sweep();
      return connection.isClosed();
    });
  }
  const body = JSON.stringify({ records: [record] }).padEnd(usageBodyBytesMax);
  const response = await fetch(`${baseUrl}${path}`, {
    method: "POST",
    headers: headersOf(test, fullKey),
    body,
  });
  await response.body?.cancel();
  assert.equal(response.status, 201);
  for (const connection of open) connection.close();
});
