// Recognizes host names and addresses of the local machine.

/** @param host A name or an address, IPv6 with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  return /^(.*\.)?localhost$/.test(host) || host === "[::1]" || host === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
