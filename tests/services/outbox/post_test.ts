// Tests requests to URLs of customers, with real servers, certificates and name servers.
import assert from "node:assert/strict";
import { AddressGuard, lookUp } from "../../../services/outbox/address_guard.ts";
import { post, type PostRequest } from "../../../services/outbox/post.ts";
import { startDnsServer } from "../../support/network/dns_server.ts";
import { startRawServer } from "../../support/network/raw_server.ts";
import { testAuthority } from "../../support/network/smtp_tls.ts";
import { isMissing } from "../../support/runner/needs.ts";

const name = "hooks.example.com";
const encode = (text: string) => new TextEncoder().encode(text);

/** Allows the test's name, which has these addresses. */
function guardAt(...addresses: string[]): AddressGuard {
  return new AddressGuard({ webhookAllowedHosts: [{ host: name }] }, () => Promise.resolve(addresses));
}

/** Posts to a server of this machine. */
async function postTo(
  url: string,
  { at = ["127.0.0.1"], ...more }: Partial<PostRequest> & { at?: string[] } = {},
) {
  const request = { url: new URL(url), headers: { "x-test": "a" }, body: "{}", timeoutMs: 10_000, ...more };
  const { durationMs, ...result } = await post(guardAt(...at), request);
  assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
  return result;
}

/** Posts over http to a server that sends a text, and then closes the connection unless `stays`. */
async function responseOf(text: string, { stays = false, timeoutMs = 10_000 } = {}) {
  await using server = startRawServer(async (connection) => {
    await connection.write(encode(text));
    if (!stays) connection.close();
  });
  return await postTo(`http://${name}:${server.port}/`, { timeoutMs });
}

Deno.test("sends one complete request, and reads only the head of the response", async () => {
  let request = "";
  await using server = startRawServer(async (connection, received) => {
    request = received;
    // The rest of the body never comes.
    await connection.write(encode("HTTP/1.1 204 No Content\r\ncontent-length: 1000000\r\n\r\nstart"));
  });
  const url = `http://${name}:${server.port}/a b?q=ü'&x`;
  assert.deepEqual(await postTo(url, { body: '{"name":"é"}' }), {
    status: 204,
    retryAfter: null,
    code: null,
  });
  assert.equal(
    request,
    `POST /a%20b?q=%C3%BC%27&x HTTP/1.1\r\nhost: ${name}:${server.port}\r\nx-test: a\r\n` +
      'content-length: 13\r\nconnection: close\r\n\r\n{"name":"é"}',
  );
  // Headers can't add lines.
  const hostile = { headers: { "x-test": "a\r\nx-more: b" } };
  assert.equal((await postTo(url, hostile)).code, "refused");
});

Deno.test("reports the status and Retry-After, and follows no redirect", async () => {
  await using canary = startRawServer();
  const target = `http://127.0.0.1:${canary.port}/`;
  for (const status of [301, 302, 303, 307, 308]) {
    const head = `HTTP/1.1 ${status} Moved\r\nLocation: ${target}\r\nRefresh: 0; url=${target}\r\n\r\n`;
    assert.deepEqual(await responseOf(head), { status, retryAfter: null, code: "status" });
  }
  assert.equal(canary.connections(), 0);
  const busy =
    "HTTP/1.1 503 Busy\r\nServer: x\r\nRETRY-AFTER:  120 \r\n\r\nbody\r\n\r\nRetry-After: 1\r\n\r\n";
  assert.deepEqual(await responseOf(busy), { status: 503, retryAfter: "120", code: "status" });
  // Informational responses come first; the reason and CRs are optional.
  const later = "HTTP/1.1 103 Early Hints\r\nRetry-After: 1\r\n\r\nHTTP/1.0 200\n\n";
  assert.deepEqual(await responseOf(later), { status: 200, retryAfter: null, code: null });
  const sloppy = "HTTP/1.1 429 Wait\r\nno colon\r\nContent-Length : 0\r\nx: a\0b\r\nretry-after: 5\r\n\r\n";
  assert.deepEqual(await responseOf(sloppy), { status: 429, retryAfter: "5", code: "status" });
});

Deno.test("reports as refused what is no HTTP response", async () => {
  const refused = { status: null, retryAfter: null, code: "refused" };
  const bad = [
    ...[
      "",
      "SSH-2.0-OpenSSH_9.9\r\n\r\n",
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/2 200\r\n\r\n",
    ],
    ...["HTTP/1.1 700 ?\r\n\r\n", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(20_000)}\r\n\r\n`],
    ...["HTTP/1.1 100 Continue\r\n\r\n".repeat(2_000)],
  ];
  for (const text of bad) assert.deepEqual(await responseOf(text), refused, text.slice(0, 40));

  await using closed = startRawServer((connection) => connection.close());
  const unused = startRawServer();
  await unused.stop();
  assert.deepEqual(await postTo(`http://${name}:${closed.port}/`), refused);
  assert.deepEqual(await postTo(`http://${name}:${unused.port}/`), refused);
  assert.deepEqual(await postTo(`https://${name}:${closed.port}/`), refused);
  assert.deepEqual(await postTo(`http://${name}:${closed.port}/`, { at: [] }), refused);
});

Deno.test("tries the next address if one doesn't accept connections", async () => {
  await using server = startRawServer(async (connection) => {
    await connection.write(encode("HTTP/1.1 200 OK\r\n\r\n"));
  });
  // No one listens on the first one.
  const { code } = await postTo(`http://${name}:${server.port}/`, { at: ["127.0.0.2", "127.0.0.1"] });
  assert.equal(code, null);
  assert.equal(server.connections(), 1);
});

Deno.test("ends every attempt in time, and when it is aborted", async () => {
  const timeout = { status: null, retryAfter: null, code: "timeout" };
  const silent = startRawServer();
  const dns = startDnsServer();
  dns.isSilent = true;
  try {
    const url = `${name}:${silent.port}/`;
    assert.deepEqual(await postTo(`http://${url}`, { timeoutMs: 100 }), timeout);
    assert.deepEqual(await postTo(`https://${url}`, { timeoutMs: 100 }), timeout);
    assert.deepEqual(await responseOf("HTTP/1.1 200 OK\r\n", { stays: true, timeoutMs: 100 }), timeout);
    const abort = new AbortController();
    const posting = postTo(`http://${url}`, { signal: abort.signal });
    abort.abort();
    assert.deepEqual(await posting, timeout);
    assert.deepEqual(await postTo(`http://${url}`, { signal: abort.signal }), timeout);

    const guard = new AddressGuard(
      { webhookAllowedHosts: [] },
      (host, signal) => lookUp(host, signal, { nameServer: dns.nameServer }),
    );
    const { code } = await post(guard, {
      url: new URL(`https://${url}`),
      headers: {},
      body: "",
      timeoutMs: 100,
    });
    assert.equal(code, "timeout");
  } finally {
    await dns.stop();
    await silent.stop();
  }
});

Deno.test({
  name: "requires a valid certificate for the name, not for the address",
  ignore: isMissing("openssl"),
  async fn() {
    const authority = await testAuthority();
    const stranger = await testAuthority();
    const stop = new AbortController();
    const options = { hostname: "127.0.0.1", port: 0, signal: stop.signal, onListen() {} };
    const serve = (certificate: { key: string; cert: string }) =>
      Deno.serve({ ...options, ...certificate }, async (request) => {
        const isWhole = await request.text() === "{}" && request.headers.get("x-test") === "a";
        return new Response(null, { status: isWhole ? 202 : 400 });
      });
    const servers = await Promise.all([
      authority.certify(name),
      authority.certify("127.0.0.1"),
      authority.certify("other.example.com"),
      stranger.certify(name),
    ]).then((certificates) => certificates.map(serve));
    const [right, address, other, untrusted] = servers.map(({ addr }) => addr.port);
    const plain = startRawServer(async (connection) => {
      await connection.write(encode("HTTP/1.1 200 OK\r\n\r\n"));
    });
    try {
      const codeOf = async (port = 0, caCerts?: string[]) =>
        (await postTo(`https://${name}:${port}/`, { caCerts })).code;
      const ca = [authority.cert];
      assert.equal(await codeOf(right, ca), null);
      for (const [what, port] of Object.entries({ address, other, untrusted, plain: plain.port })) {
        assert.equal(await codeOf(port, ca), "tls", what);
      }
      assert.equal(await codeOf(right), "tls", "an unknown authority");
      const literal = new AddressGuard({ webhookAllowedHosts: [{ host: "127.0.0.1" }] });
      const request = { headers: { "x-test": "a" }, body: "{}", timeoutMs: 10_000, caCerts: ca };
      const codes = await Promise.all(
        [right, address].map(async (port) =>
          (await post(literal, { url: new URL(`https://127.0.0.1:${port}/`), ...request })).code
        ),
      );
      assert.deepEqual(codes, ["tls", null]);
    } finally {
      stop.abort();
      await Promise.all(servers.map((server) => server.finished));
      await plain.stop();
      await authority.dispose();
      await stranger.dispose();
    }
  },
});
