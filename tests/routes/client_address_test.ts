// The client's address, from headers of trusted proxies only.
import assert from "node:assert/strict";
import { parseAddressBlock } from "../../domain/address_block.ts";
import { clientAddress } from "../../routes/client_address.ts";

const trusted = ["10.0.0.0/8", "2001:db8:aa::/48", "::1"].map((text) => {
  const block = parseAddressBlock(text);
  assert(block !== null);
  return block;
});

const cases: Readonly<
  Record<string, readonly (readonly [peer: string, forwardedFor: string | undefined, address: string])[]>
> = {
  "an untrusted peer is the client, regardless of its headers": [
    ["203.0.113.7", "6.6.6.6", "203.0.113.7"],
    ["2001:db8:bb::1", "6.6.6.6", "2001:db8:bb::1"],
    ["::ffff:203.0.113.7", "6.6.6.6", "203.0.113.7"],
  ],
  "behind trusted proxies, the client is the rightmost hop that isn't one": [
    ["10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["10.0.0.1", "6.6.6.6, 203.0.113.9 ,10.0.0.2", "203.0.113.9"],
    ["::ffff:10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"],
    ["2001:db8:aa::1", "2001:DB8:BB:0::1, 2001:db8:aa::2", "2001:db8:bb::1"],
    ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["10.0.0.1", undefined, "10.0.0.1"],
  ],
  "an invalid address makes the last trusted hop the client": [
    ...[
      "",
      " ",
      "unknown",
      "_hidden",
      "203.0.113.9:80",
      "[2001:db8:bb::1]",
      "[2001:db8:bb::1]:80",
      "2001:db8:bb::1%eth0",
      "0x7f.1",
      "010.0.0.1",
      "1",
      "203.0.113.256",
    ]
      .map((hop) => ["10.0.0.1", `6.6.6.6, ${hop}, 10.0.0.2`, "10.0.0.2"] as const),
    ["10.0.0.1", "203.0.113.9,", "10.0.0.1"],
  ],
};

for (const [name, rows] of Object.entries(cases)) {
  Deno.test(name, () => {
    for (const [peer, forwardedFor, address] of rows) {
      assert.equal(clientAddress(peer, forwardedFor, trusted), address, `${peer} ${forwardedFor}`);
    }
  });
}
