// Client addresses and blocks of them: trusted proxies, and the addresses of operator tokens and API keys.
import ipaddr from "ipaddr.js";
import { type AddressBlock, parseAddressBlock } from "../domain/address_block.ts";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses an address, mapped IPv4 as IPv4. Returns null for anything else. */
export function parseAddress(text: string): Address | null {
  // Rejects zone ids, ports, and short IPv4 forms such as "1", which ipaddr.js would accept.
  const isAddress = ipaddr.IPv6.isValid(text) && !text.includes("%") ||
    ipaddr.IPv4.isValidFourPartDecimal(text);
  return isAddress ? ipaddr.process(text) : null;
}

/** Returns the network of an address, such as `203.0.113.0/24` or `2001:db8::/48`; empty for anything but an address. */
export function networkOf(text: string): string {
  const address = parseAddress(text);
  if (address === null) return "";
  return address.kind() === "ipv4"
    ? `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/24`)}/24`
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/48`)}/48`;
}

export function isInBlocks(address: Address, blocks: readonly AddressBlock[]): boolean {
  return blocks.some(([block, bits]) => block.kind() === address.kind() && address.match(block, bits));
}

/**
 * Returns true if a client may use a key or token that has addresses.
 *
 * @param blocks A JSON list of CIDR blocks; null or an empty list for any address. @param client With its address, if it is known.
 */
export function isAllowedFrom(blocks: string | null, client: { readonly address: string | null }): boolean {
  const texts: readonly string[] = blocks === null ? [] : JSON.parse(blocks);
  if (texts.length === 0) return true;
  const address = parseAddress(client.address ?? "");
  return address !== null &&
    isInBlocks(address, texts.map(parseAddressBlock).filter((block) => block !== null));
}
