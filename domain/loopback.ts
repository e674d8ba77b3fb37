// Recognizes host names and addresses of the local machine.

/** @param host A name or an address, IPv6 with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  return /^(.*\.)?localhost$/.test(host) || host === "[::1]" || host === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** Returns the addresses of a loopback host, IPv6 with brackets; null for any other host. */
export function loopbackAddresses(host: string): readonly string[] | null {
  if (!isLoopbackHost(host)) return null;
  if (host.endsWith("localhost")) return ["127.0.0.1", "[::1]"];
  return [host === "::1" ? "[::1]" : host];
}
