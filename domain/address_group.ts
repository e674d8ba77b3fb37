// Groups addresses that belong to one client, for rate limits.

/** Returns a normalized IPv4 address itself, or the /64 block of an IPv6 address, which usually belongs to one customer. */
export function addressGroup(address: string): string {
  if (!address.includes(":")) return address;
  const [front = [], back] = address.split("::").map((part) => part === "" ? [] : part.split(":"));
  const zeros = back === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  return [...front, ...Array<string>(zeros).fill("0"), ...back ?? []].slice(0, 4).join(":");
}
