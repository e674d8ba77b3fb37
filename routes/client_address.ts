// Finds the client of a request: the TCP peer, or, behind trusted proxies, the right-most hop that isn't one of them.
import type { AddressBlock } from "../domain/address_block.ts";
import { isInBlocks, parseAddress } from "../services/address_blocks.ts";
import type { AppContext } from "./env.ts";

/** Returns the TCP peer's address; loopback in tests, which have no connection. */
export function peerAddress(c: AppContext): string {
  return c.env?.remoteAddr?.hostname ?? "127.0.0.1";
}

/**
 * Returns the client's address, normalized (mapped IPv4 as IPv4). If a trusted hop forwards something other than an address,
 * that is the address of that hop.
 *
 * @param forwardedFor The `X-Forwarded-For` header, used only from a trusted peer.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { parseAddressBlock } from "../domain/address_block.ts";
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
  let address = parseAddress(peer);
  if (address === null) return peer;
  if (trusted.length === 0 || forwardedFor === undefined) return address.toString();
  const hops = forwardedFor.split(",").map((hop) => hop.trim()).reverse();
  for (const hop of hops) {
    if (!isInBlocks(address, trusted)) break;
    const next = parseAddress(hop);
    if (next === null) break;
    address = next;
  }
  return address.toString();
}

/** Addresses that no one on the internet has. */
const privateRanges: ReadonlySet<string> = new Set([
  "loopback",
  "private",
  "uniqueLocal",
  "linkLocal",
  "carrierGradeNat",
]);

/**
 * Returns true if a peer forwards requests of others without being a trusted proxy. Only private addresses count: otherwise,
 * strangers could switch off limits with a header.
 */
export function isUnknownProxy(
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly AddressBlock[],
): boolean {
  if (forwardedFor === undefined) return false;
  const address = parseAddress(peer);
  return address !== null && privateRanges.has(address.range()) && !isInBlocks(address, trusted);
}

export function isTrustedProxy(text: string, trusted: readonly AddressBlock[]): boolean {
  const address = parseAddress(text);
  return address !== null && isInBlocks(address, trusted);
}

export function isLoopback(text: string): boolean {
  return parseAddress(text)?.range() === "loopback";
}

/** True if the request comes from this machine itself, and not through a proxy on it. */
export function isLocalRequest(c: AppContext): boolean {
  return isLoopback(peerAddress(c)) && c.req.header("X-Forwarded-For") === undefined &&
    c.req.header("Forwarded") === undefined;
}
