// The Host header: an invalid one is a malformed request, and never becomes part of the path.
import assert from "node:assert/strict";
import { connectTo } from "../support/network/connection.ts";
import { poll } from "../support/runner/poll.ts";
import { realTest } from "../support/app/real_app.ts";

realTest("rejects a malformed Host with a 400 on every path, and logs nothing", async (test, baseUrl) => {
  const statusOf = async (path: string, headers: string) => {
    const connection = await connectTo(
      baseUrl,
      `GET ${path} HTTP/1.1\r\n${headers}connection: close\r\n\r\n`,
    );
    await poll(() => connection.isClosed());
    return Number(/^HTTP\/1\.1 (\d+)/.exec(connection.received())?.[1]);
  };
  const malformed = [
    "",
    "a b",
    "[::",
    "[:::::]",
    "a/b",
    "a?b",
    "a#b",
    "a@b",
    "a:b",
    "a:99999",
    "1.2.3.999",
    "é",
  ];
  for (const path of ["/api/auth/me", "/portal/api-keys", "/sign-in", "/nowhere"]) {
    for (const host of malformed) {
      assert.equal(await statusOf(path, `host: ${host}\r\n`), 400, `${path} ${host}`);
    }
    assert.equal(await statusOf(path, "host: a\r\nhost: b\r\n"), 400, "two headers");
  }
  for (
    const host of [
      "localhost",
      "auth.example.com:443",
      "my_service:8000",
      "127.0.0.1:1",
      "[::1]:8000",
      "a:",
    ]
  ) {
    assert.equal(await statusOf("/api/auth/me", `host: ${host}\r\n`), 200, host);
  }
  assert.equal(test.logged(), "");
});
