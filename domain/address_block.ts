// Blocks of IP addresses.
import ipaddr from "ipaddr.js";

/** A CIDR block, as ipaddr.js represents it. */
export type AddressBlock = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Parses a CIDR block. An address becomes a block of one. */
export function parseAddressBlock(text: string): AddressBlock | null {
  try {
    // Otherwise 010.0.0.1 would be octal, and 10 would be 0.0.0.10.
    if (!text.includes(":") && !/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){3}(\/\d+)?$/.test(text)) return null;
    if (text.includes("/")) {
      const [address, bits] = ipaddr.parseCIDR(text);
      // Mapped IPv4 addresses of clients are compared as IPv4.
      return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
        ? [address.toIPv4Address(), bits - 96]
        : [address, bits];
    }
    const address = ipaddr.process(text);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  } catch {
    return null;
  }
}
