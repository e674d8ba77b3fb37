// Tests which URLs and addresses of customers may be reached.
import assert from "node:assert/strict";
import type { AppError } from "../../../domain/errors.ts";
import { AddressGuard, BlockedAddressError, lookUp } from "../../../services/outbox/address_guard.ts";
import { post } from "../../../services/outbox/post.ts";
import { accepted, assertInvalid } from "../../config_assert.ts";
import { startDnsServer } from "../../support/network/dns_server.ts";
import { startRawServer } from "../../support/network/raw_server.ts";

/** Hosts of URLs that must never be reached, in every spelling. */
const blockedHosts = [
  "127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1.",
  "%31%32%37.0.0.1 １２７.0.0.1 ①②⑦.⓪.⓪.① 127。0。0。1 0 0.0.0.0 0x 127.255.255.254 10.0.0.1 172.16.0.1",
  "172.31.255.255 192.168.1.1 100.64.0.1 3232235777 169.254.169.254 0xa9fea9fe 192.0.0.8 192.0.2.1",
  "198.18.0.1 203.0.113.7 224.0.0.1 240.0.0.1 255.255.255.255 192.88.99.1 [::] [::1]",
  "[0:0:0:0:0:0:0:1] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1] [64:ff9b:1::1] [64:ff9b::8.8.8.8] [2002:7f00:1::] [2001:0:7f00:1::]",
  "[fe80::1] [febf::1] [fec0::1] [fc00::1] [fd00:ec2::254] [ff02::1] [100::1] [2001:db8::1]",
  "[3fff::1] [4000::1]",
].flatMap((hosts) => hosts.split(" "));

function guardWith(allowed = "", resolve?: (host: string) => Promise<readonly string[]>): AddressGuard {
  return new AddressGuard(accepted({ WEBHOOK_ALLOWED_HOSTS: allowed }), resolve);
}

async function errorOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => null, (error) => error as AppError);
  if (error === null) return "none";
  assert.equal(error.details?.[0]?.path, "url");
  return error.code;
}

Deno.test("rejects private addresses in every spelling and under every name", async () => {
  const canary = startRawServer();
  const dns = startDnsServer();
  try {
    const guard = guardWith("", (host) => lookUp(host, undefined, { nameServer: dns.nameServer }));
    dns.hosts.set("mixed4.example.com", ["198.41.0.4", "127.0.0.1"]);
    dns.hosts.set("mixed6.example.com", ["198.41.0.4", "2001:503:ba3e::2:30", "::1"]);
    dns.hosts.set("mapped.example.com", ["::ffff:127.0.0.1"]);
    dns.hosts.set("public.example.com", ["198.41.0.4", "2001:503:ba3e::2:30"]);
    const names = ["mixed4", "mixed6", "mapped"].map((name) => `${name}.example.com`);
    assert.ok(blockedHosts.length > 30);
    for (const host of [...blockedHosts, ...names, "localhost", "LOCALHOST."]) {
      const text = `https://${host}:${canary.port}/`;
      assert.equal(await errorOf(guard.check(text)), "webhook_address_blocked", host);
      const { code } = await post(guard, { url: new URL(text), headers: {}, body: "{}", timeoutMs: 5_000 });
      assert.equal(code, "blocked", host);
    }
    assert.equal(canary.connections(), 0);
    assert.deepEqual(await guard.addressesOf(await guard.check("https://public.example.com/")), [
      "198.41.0.4",
      "2001:503:ba3e::2:30",
    ]);
    assert.equal(await errorOf(guard.check("https://unknown.example.com/")), "webhook_address_blocked");
  } finally {
    await dns.stop();
    await canary.stop();
  }
});

Deno.test("resolves the name again for every attempt", async () => {
  const canary = startRawServer();
  const dns = startDnsServer();
  try {
    const guard = guardWith("", (host) => lookUp(host, undefined, { nameServer: dns.nameServer }));
    dns.hosts.set("rebinding.example.com", ["198.41.0.4"]);
    const url = await guard.check(`https://rebinding.example.com:${canary.port}/`);
    dns.hosts.set("rebinding.example.com", ["127.0.0.1"]);
    const { code } = await post(guard, { url, headers: {}, body: "{}", timeoutMs: 5_000 });
    assert.deepEqual([code, canary.connections()], ["blocked", 0]);
  } finally {
    await dns.stop();
    await canary.stop();
  }
});

Deno.test("WEBHOOK_ALLOWED_HOSTS permits private addresses and http, but never link-local addresses", async () => {
  const at = (...addresses: string[]) => () => Promise.resolve(addresses);
  const isAllowed = (guard: AddressGuard, text: string) =>
    guard.addressesOf(guard.parse(text)).then(() => true, (error) => {
      assert.ok(error instanceof BlockedAddressError);
      return false;
    });
  const privateAddresses = at("10.0.0.1", "127.0.0.1", "fd00::1", "100.64.0.1");
  const byName = guardWith("crm.internal", privateAddresses);
  assert.ok(await isAllowed(byName, "http://CRM.internal.:8080/"));
  assert.ok(await isAllowed(byName, "https://crm.internal/"));
  assert.ok(!await isAllowed(byName, "https://other.crm.internal/"));
  assert.equal(
    await errorOf(Promise.resolve().then(() => byName.parse("http://a.crm.internal/"))),
    "webhook_address_blocked",
  );
  assert.ok(await isAllowed(guardWith("crm.internal", at("198.41.0.4")), "http://crm.internal/"));
  assert.ok(!await isAllowed(guardWith("crm.internal", at("64:ff9b::1")), "http://crm.internal/"));

  const byBlock = (...addresses: string[]) => guardWith("10.0.0.0/8,::1", at(...addresses));
  assert.ok(await isAllowed(byBlock("10.1.2.3", "::1"), "http://any.example.com/"));
  assert.ok(!await isAllowed(byBlock("10.1.2.3", "198.41.0.4"), "http://any.example.com/"));
  assert.ok(await isAllowed(byBlock("10.1.2.3", "198.41.0.4"), "https://any.example.com/"));
  assert.ok(!await isAllowed(byBlock("10.1.2.3", "192.168.0.1"), "https://any.example.com/"));
  assert.ok(await isAllowed(byBlock(), "http://[::1]/"));

  for (
    const address of [
      "169.254.169.254",
      "fe80::1",
      "fe80::1%eth0",
      "::ffff:169.254.1.1",
      "64:ff9b::a9fe:a9fe",
      "fd00:ec2::254",
    ]
  ) {
    const guard = guardWith("crm.internal, 0.0.0.0/0, ::/0", at(address));
    assert.ok(!await isAllowed(guard, "https://crm.internal/"), address);
  }
});

Deno.test("WEBHOOK_ALLOWED_HOSTS is a list of host names and blocks", () => {
  const { webhookAllowedHosts } = accepted({
    WEBHOOK_ALLOWED_HOSTS: "CRM.internal, 10.20.0.0/16, ::1, web_1",
  });
  assert.deepEqual(
    webhookAllowedHosts.map((one) => "host" in one ? one.host : `${one[0]}/${one[1]}`),
    ["crm.internal", "10.20.0.0/16", "::1/128", "web_1"],
  );
  const bad = ["*.internal", "crm:8080", "crm/path", "http://crm", "127.1", "0x7f.1", "[::1]", "a b", "crm."];
  for (const text of bad) assertInvalid("WEBHOOK_ALLOWED_HOSTS", text);
});

Deno.test("rejects URLs that aren't https, or have credentials or a fragment", () => {
  const guard = guardWith();
  const long = (characters: number) => "https://example.com/".padEnd(characters, "a");
  assert.equal(guard.parse(long(2_000)).href, long(2_000));
  for (
    const [text, code] of [
      ["", "validation_failed"],
      ["example.com", "validation_failed"],
      ["https://", "validation_failed"],
      ["ftp://example.com/", "validation_failed"],
      ["file:///etc/passwd", "validation_failed"],
      ["javascript:alert(1)", "validation_failed"],
      ["https://user@example.com/", "validation_failed"],
      ["https://:password@example.com/", "validation_failed"],
      ["https://example.com/#", "validation_failed"],
      ["https://example.com/#a", "validation_failed"],
      [long(2_001), "validation_failed"],
      // Longer once it is percent-encoded.
      [`https://example.com/${"é".repeat(500)}`, "validation_failed"],
      ["http://example.com/", "webhook_address_blocked"],
    ] as const
  ) {
    assert.throws(() => guard.parse(text), (error: AppError) => {
      assert.deepEqual([error.code, error.details?.[0]?.path], [code, "url"], text);
      return true;
    });
  }
});
