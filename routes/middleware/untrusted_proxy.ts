// Notices a proxy that the settings don't name: until they do, all of its users share one address and its limits.
import { isTrustedProxy } from "../client_address.ts";
import type { AppParts } from "../env.ts";
import type { Guard } from "./request_lifecycle.ts";

/**
 * @param parts `tell`: says the same to the person at the terminal.
 * @returns A guard that rejects nothing: it warns at the first request with `X-Forwarded-For` from a peer that isn't in
 *   `TRUSTED_PROXIES`.
 */
export function untrustedProxy({ config, log, tell }: AppParts): Guard {
  let isDone = false;
  // A proxy's address is read from each connection; most have the same one.
  let trusted: string | undefined;
  return function untrustedProxyGuard(c) {
    if (isDone || c.get("headers")["x-forwarded-for"] === undefined) return;
    const peer = c.env?.remoteAddr?.hostname;
    if (peer === undefined || peer === trusted) return;
    if (isTrustedProxy(peer, config.trustedProxies)) {
      trusted = peer;
      return;
    }
    isDone = true;
    const warning =
      "X-Forwarded-For from an address that is not in TRUSTED_PROXIES is ignored. If this is your proxy, " +
      "add it: until then, everyone behind it shares its address and its rate limits";
    log.warn(warning, { peer });
    tell?.(`${warning}. The address: ${peer}`);
  };
}
