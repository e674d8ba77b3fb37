// Whose request it is: the TCP peer, or, behind proxies that the settings trust, the right-most hop that is not one.
import ipaddr from "ipaddr.js";
import type { AddressBlock } from "../config.ts";

/**
 * @param peer The TCP peer's address.
 * @param forwardedFor The `X-Forwarded-For` header, believed only from a trusted peer.
 * @param trusted Blocks of trusted proxies.
 * @returns The client's address in normal form (IPv4 where it was mapped into IPv6); the last trusted hop when what it
 *   says is not an address.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { parseAddressBlock } from "../config.ts";
 * const proxy = parseAddressBlock("10.0.0.0/8");
 * assert(proxy !== null);
 * assert.equal(clientAddress("10.0.0.1", "6.6.6.6, 203.0.113.9, 10.0.0.2", [proxy]), "203.0.113.9");
 * assert.equal(clientAddress("203.0.113.7", "6.6.6.6", [proxy]), "203.0.113.7");
 * ```
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly AddressBlock[],
): string {
  let address = parse(peer);
  if (address === null) return peer;
  if (trusted.length === 0 || forwardedFor === undefined) return address.toString();
  const hops = forwardedFor.split(",").map((hop) => hop.trim()).reverse();
  for (const hop of hops) {
    if (!isTrusted(address, trusted)) break;
    const next = parse(hop);
    if (next === null) break;
    address = next;
  }
  return address.toString();
}

/** @returns Whether an address is a trusted proxy's. */
export function isTrustedProxy(text: string, trusted: readonly AddressBlock[]): boolean {
  const address = parse(text);
  return address !== null && isTrusted(address, trusted);
}

/** @returns Whether an address is of this machine itself. */
export function isLoopback(text: string): boolean {
  return parse(text)?.range() === "loopback";
}

function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // Zone ids and ports in brackets are not addresses here; ipaddr.js takes shortened IPv4 such as "1", which no proxy sends.
  const isAddress = ipaddr.IPv6.isValid(text) && !text.includes("%") ||
    ipaddr.IPv4.isValidFourPartDecimal(text);
  return isAddress ? ipaddr.process(text) : null;
}

function isTrusted(address: ipaddr.IPv4 | ipaddr.IPv6, trusted: readonly AddressBlock[]): boolean {
  return trusted.some(([block, bits]) => block.kind() === address.kind() && address.match(block, bits));
}
