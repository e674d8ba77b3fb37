// Groups addresses that belong to one client, for rate limits.

/**
 * @param address A normalized address.
 * @returns The IPv4 address itself, or the /64 block of an IPv6 address, which usually belongs to one customer.
 */
export function addressGroup(address: string): string {
  if (!address.includes(":")) return address;
  return expandedIpv6(address).slice(0, 4).join(":");
}

function expandedIpv6(address: string): string[] {
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  return [...front, ...Array<string>(zeros).fill("0"), ...back];
}
