// Tests requests to identity providers, with real servers.
import assert from "node:assert/strict";
import { AddressGuard } from "../../../services/outbox/address_guard.ts";
import { providerFetch, ProviderUnreachableError } from "../../../services/outbox/provider_fetch.ts";
import { startRawServer } from "../../support/network/raw_server.ts";
import { testAuthority } from "../../support/network/smtp_tls.ts";
import { isMissing } from "../../support/runner/needs.ts";

const name = "idp.example.com";
const bodyBytesMax = 64 * 1024;
const encode = (text: string) => new TextEncoder().encode(text);

const addressGuard = new AddressGuard(
  { webhookAllowedHosts: [{ host: name }] },
  () => Promise.resolve(["127.0.0.1"]),
);
const ofService = providerFetch({ addressGuard }, { isGuarded: false });
const ofCompany = providerFetch({ addressGuard }, { isGuarded: true });

/** Both ways to send a request, with the URL of a server of this machine. */
function ways(port: number) {
  return [
    { send: ofService, url: `http://127.0.0.1:${port}` },
    { send: ofCompany, url: `http://${name}:${port}` },
  ];
}

/** Sends a request to a server that responds with these pieces, and then closes the connection. */
async function responseOf(send: typeof ofCompany, ...pieces: readonly string[]) {
  await using server = startRawServer(async (connection) => {
    for (const piece of pieces) await connection.write(encode(piece));
    connection.close();
  });
  const host = send === ofCompany ? name : "127.0.0.1";
  const response = await send(`http://${host}:${server.port}/`);
  return { status: response.status, body: await response.text(), headers: response.headers };
}

const unreachable = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ProviderUnreachableError);
  assert.match(error.message, message);
  return true;
};

Deno.test("sends a form and reads the response, of the service's providers and of an organization's", async () => {
  const requests: string[] = [];
  await using server = startRawServer(async (connection, received) => {
    requests.push(received);
    await connection.write(
      encode("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n"),
    );
    await connection.write(encode('{"a":'));
    await connection.write(encode("12}"));
    connection.close();
  });
  for (const { send, url } of ways(server.port)) {
    const response = await send(`${url}/token?x=1`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ code: "a b", next: "é" }),
    });
    assert.deepEqual([response.status, response.headers.get("content-type"), await response.json()], [
      200,
      "application/json",
      { a: 12 },
    ]);
    const request = requests.at(-1)!;
    assert.match(request, /^POST \/token\?x=1 HTTP\/1\.1\r\n/);
    assert.match(request, /\r\nuser-agent: Gatehouse\r\n/i);
    assert.match(request, /\r\ncontent-length: 20\r\n/i);
    assert.ok(request.endsWith("\r\n\r\ncode=a+b&next=%C3%A9"), request);
    await send(`${url}/keys`);
    assert.match(requests.at(-1)!, /^GET \/keys HTTP\/1\.1\r\n/);
    assert.doesNotMatch(requests.at(-1)!, /content-length|transfer-encoding/i);
  }
});

Deno.test("reads bodies of a length, in chunks and up to the end of the connection", async () => {
  const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const send of [ofService, ofCompany]) {
    const bodyOf = async (...pieces: string[]) => (await responseOf(send, ...pieces)).body;
    assert.equal(
      await bodyOf(chunked, "3\r\nabc\r\n", "A;x=y\r\n0123", "456789\r\n0\r\nx: y\r\n\r\n"),
      "abc0123456789",
    );
    assert.equal(await bodyOf("HTTP/1.1 200 OK\r\n\r\nab", "c"), "abc");
    assert.equal(
      await bodyOf(
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
      ),
      "a",
    );
    // The largest body.
    const largest = "a".repeat(bodyBytesMax);
    assert.equal(
      await bodyOf(`HTTP/1.1 200 OK\r\nContent-Length: ${bodyBytesMax}\r\n\r\n${largest}`),
      largest,
    );
    assert.equal(await bodyOf(`${chunked}10000\r\n${largest}\r\n0\r\n\r\n`), largest);
    // An error and a redirect are responses like any other.
    const moved = await responseOf(
      send,
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    );
    assert.deepEqual([moved.status, moved.headers.get("location")], [302, "http://127.0.0.1:1/"]);
    assert.equal((await responseOf(send, "HTTP/1.1 204 No Content\r\n\r\n")).status, 204);
    assert.equal((await responseOf(send, "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}")).body, "{}");
  }
});

Deno.test("rejects bodies of more than 64 KB and what isn't a response", async () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  const larger = "a".repeat(bodyBytesMax + 1);
  const tooLarge = [
    `${ok}Content-Length: ${larger.length}\r\n\r\n${larger}`,
    `${ok}Transfer-Encoding: chunked\r\n\r\n10000\r\n${larger.slice(1)}\r\n1\r\na\r\n0\r\n\r\n`,
    `${ok}\r\n${larger}`,
  ];
  for (const text of tooLarge) {
    for (const send of [ofService, ofCompany]) {
      await assert.rejects(responseOf(send, text), unreachable(/^returns a response that is too large$/));
    }
  }
  const both = [
    `${ok}Content-Length: 5\r\n\r\nabc`,
    `${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nabc`,
    `${ok}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`,
    ...["", "SSH-2.0-OpenSSH_9.9\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"],
  ];
  for (const text of both) {
    for (const send of [ofService, ofCompany]) {
      await assert.rejects(responseOf(send, text), ProviderUnreachableError, text.slice(0, 80));
    }
  }
  const guarded = [
    `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${ok}Content-Length: -1\r\n\r\n`,
    `${ok}Transfer-Encoding: gzip\r\n\r\nabc`,
    `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n`,
    `${ok}x: ${"a".repeat(20_000)}\r\n\r\n`,
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n".repeat(5_000),
  ];
  for (const text of guarded) {
    await assert.rejects(responseOf(ofCompany, text), ProviderUnreachableError, text.slice(0, 80));
  }
});

Deno.test("ends a request in time and with its signal, wherever it is", async () => {
  await using silent = startRawServer();
  await using slow = startRawServer(async (connection) => {
    await connection.write(encode("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"));
  });
  for (const { port } of [silent, slow]) {
    for (const { send, url } of ways(port)) {
      const abort = new AbortController();
      const sending = assert.rejects(send(url, { signal: abort.signal }), ProviderUnreachableError);
      abort.abort();
      await sending;
    }
    for (const organizationId of [null, "org_1"]) {
      const impatient = providerFetch({ addressGuard, timeoutMs: 100 }, {
        isGuarded: organizationId !== null,
      });
      const url = `http://${organizationId === null ? "127.0.0.1" : name}:${port}/`;
      await assert.rejects(impatient(url), unreachable(/^didn't respond within 0.1 seconds$/));
    }
  }
});

Deno.test("sends http only to loopback hosts, and an organization's requests only to allowed addresses", async () => {
  await assert.rejects(ofService("http://idp.example.com/"), unreachable(/must begin with “https:\/\/”/));
  await assert.rejects(ofService("file:///etc/passwd"), unreachable(/must begin with “https:\/\/”/));
  // No more about our network.
  const hidden = /^can't be reached. Its host must be found in DNS and have only public addresses$/;
  await using canary = startRawServer();
  const blocked = [
    `http://127.0.0.1:${canary.port}/`,
    `https://localhost:${canary.port}/`,
    "https://169.254.169.254/",
  ];
  for (const url of blocked) await assert.rejects(ofCompany(url), unreachable(hidden));
  // A name whose addresses changed after the provider was created.
  const strict = new AddressGuard({ webhookAllowedHosts: [] }, () => Promise.resolve(["127.0.0.1"]));
  await assert.rejects(
    providerFetch({ addressGuard: strict }, { isGuarded: true })(`https://${name}:${canary.port}/`),
    unreachable(hidden),
  );
  assert.equal(canary.connections(), 0);
});

Deno.test({
  name: "requires a certificate for the name of an organization's provider",
  ignore: isMissing("openssl"),
  async fn() {
    const authority = await testAuthority();
    const serve = async (host: string) =>
      Deno.serve(
        { hostname: "127.0.0.1", port: 0, ...await authority.certify(host), onListen() {} },
        () => new Response("{}"),
      );
    const servers = [await serve(name), await serve("other.example.com")];
    try {
      const trusting = providerFetch({ addressGuard, caCerts: [authority.cert] }, { isGuarded: true });
      const [right = "", wrong = ""] = servers.map(({ addr }) => `https://${name}:${addr.port}/`);
      assert.equal(await (await trusting(right)).text(), "{}");
      await assert.rejects(trusting(wrong), unreachable(/certificate/));
      await assert.rejects(ofCompany(right), unreachable(/certificate/));
    } finally {
      await Promise.all(servers.map((server) => server.shutdown()));
      await authority.dispose();
    }
  },
});
