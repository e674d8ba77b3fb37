// The issuer that applications trust: the address of this service.
import { isLoopbackHost } from "../loopback.ts";

/** Returns why a service at this address can't sign people in to applications, or null. ID tokens must not travel in the clear. */
export function issuerFault({ protocol, hostname }: Pick<URL, "protocol" | "hostname">): string | null {
  if (protocol === "https:" || isLoopbackHost(hostname)) return null;
  return "Applications can sign people in only if BASE_URL begins with https://, or is on this machine.";
}
