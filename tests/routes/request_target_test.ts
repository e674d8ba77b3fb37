// Request targets over HTTP/1.1 and HTTP/2: a malformed one is the client's error, and never the server's.
import assert from "node:assert/strict";
import http2 from "node:http2";
import type { TestApp } from "../support/app/app.ts";
import { connectTo } from "../support/network/connection.ts";
import { poll } from "../support/runner/poll.ts";
import { realTest } from "../support/app/real_app.ts";

/** A response; status 0 if the stream was reset instead. */
interface Outcome {
  readonly status: number;
  readonly body: string;
}

async function sendHttp1(baseUrl: string, method: string, target: string): Promise<Outcome> {
  const host = new URL(baseUrl).host;
  const connection = await connectTo(
    baseUrl,
    `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
  );
  await poll(() => connection.isClosed());
  connection.close();
  const [head = "", body = ""] = connection.received().split("\r\n\r\n", 2);
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body };
}

/** Sends pseudo-headers as they are, on a connection of its own. */
function sendHttp2(baseUrl: string, headers: http2.OutgoingHttpHeaders): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const session = http2.connect(baseUrl);
  session.on("error", reject);
  const request = session.request(headers);
  let status = 0;
  let body = "";
  request.on("response", ({ ":status": given = 0 }) => {
    status = given;
  });
  request.on("data", (text) => {
    body += text;
  });
  request.on("error", () => {});
  request.on("close", () => {
    session.destroy();
    resolve({ status, body });
  });
  request.end();
  return promise;
}

const isReset = ({ status }: Outcome) => status === 0;

function assertMalformed(test: TestApp, { status, body }: Outcome, about: string): void {
  assert.equal(status, 400, `${about}: ${body}`);
  // The runtime's own 400 has no body.
  if (body !== "") assert.match(body, /"code":"malformed_request"/, about);
  assert.equal(test.logged(), "", about);
}

/** Targets that aren't an absolute path or URL. */
const malformed = [
  "*",
  "**",
  "*/api/auth/me",
  "http://",
  "http:///x",
  "http://[::1",
  "http://localhost:99999/api/auth/me",
  "http://localhost:x/api/auth/me",
  "http://ada@localhost/api/auth/me",
  "ftp://localhost/api/auth/me",
  "file:///etc/passwd",
  "mailto:ada@example.com",
  "localhost:80",
  "?x",
  "#x",
  "\\",
  "health/live",
  "/a b",
  "/\x01",
  "",
];

/** Targets that are unusual, with the status of GET. */
const wellFormed: readonly (readonly [target: string, status: number])[] = [
  ["/health/live", 200],
  ["/health/live?a=%zz", 200],
  ["/health/live#x", 200],
  ["/api/*", 404],
  ["/api/%", 404],
  ["/api/%00", 404],
  ["/api/%C3%28", 404],
  ["/api/../health/live", 404],
  ["/*", 404],
  ["/%", 404],
  ["//evil.example/health/live", 404],
  ["/\\evil.example", 404],
  ["/http://localhost:99999/", 404],
];

realTest("rejects malformed targets over HTTP/1.1 with 400, and logs nothing", async (test, baseUrl) => {
  for (const target of malformed) {
    assertMalformed(test, await sendHttp1(baseUrl, "GET", target), `GET ${target}`);
  }
  assertMalformed(test, await sendHttp1(baseUrl, "CONNECT", "localhost:80"), "CONNECT");
  for (const target of ["http://localhost/health/live", "HTTP://evil.example:1/health/live"]) {
    assert.equal((await sendHttp1(baseUrl, "GET", target)).status, 200, target);
  }
});

realTest("never fails on a malformed target over HTTP/2, and logs nothing", async (test, baseUrl) => {
  const host = new URL(baseUrl).host;
  for (const path of malformed) {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const outcome = await sendHttp2(baseUrl, { ":method": method, ":path": path });
      const about = `${method} ${path}: ${outcome.status}`;
      // The runtime puts a slash before everything else.
      assert(outcome.status < 500, about);
      if (path.startsWith("*") && method !== "OPTIONS") assertMalformed(test, outcome, about);
    }
  }
  const origins = [
    { ":scheme": "ftp" },
    { ":authority": `ada@${host}` },
    { ":authority": "localhost:99999" },
    { ":authority": "localhost:x" },
    { ":authority": "a b" },
    { host: "a b" },
  ];
  for (const headers of origins) {
    const outcome = await sendHttp2(baseUrl, { ":path": "/api/auth/me", ...headers });
    if (!isReset(outcome)) assertMalformed(test, outcome, JSON.stringify(headers));
  }
  assert.equal(test.logged(), "");
});

realTest("handles unusual targets the same over HTTP/1.1 and HTTP/2", async (test, baseUrl) => {
  for (const [target, status] of wellFormed) {
    assert.equal((await sendHttp1(baseUrl, "GET", target)).status, status, `HTTP/1.1 ${target}`);
    assert.equal((await sendHttp2(baseUrl, { ":path": target })).status, status, `HTTP/2 ${target}`);
  }
  assert.equal(test.logged(), "");
});
