// Which addresses count as one client.

/**
 * @param address In normal form.
 * @returns A name for the limits: an IPv4 address is itself, an IPv6 customer has a /64.
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
