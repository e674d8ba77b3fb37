// Warns about a proxy that is missing from TRUSTED_PROXIES: its users can't be told apart.
import { isTrustedProxy, isUnknownProxy } from "../client_address.ts";
import type { AppParts } from "../env.ts";
import type { Guard } from "./request_lifecycle.ts";

/** Returns a guard that warns once, at the first request with `X-Forwarded-For` from an untrusted peer, and rejects nothing. */
export function untrustedProxy({ config, services, log, print }: AppParts): Guard {
  let isDone = false;
  // Most connections are from the same proxy.
  let trusted: string | undefined;
  return function untrustedProxyGuard(c) {
    const forwardedFor = c.get("headers")["x-forwarded-for"];
    if (isDone || forwardedFor === undefined) return;
    const peer = c.env?.remoteAddr?.hostname;
    if (peer === undefined || peer === trusted) return;
    if (isTrustedProxy(peer, config.trustedProxies)) {
      trusted = peer;
      return;
    }
    isDone = true;
    if (!services.rateLimits.warnings.take("untrusted proxy").isAllowed) return;
    const effect = isUnknownProxy(peer, forwardedFor, config.trustedProxies)
      ? "has its address, and wrong passwords aren't limited by client address"
      : "shares its address and rate limits";
    const warning =
      "ignoring X-Forwarded-For from an address that is not in TRUSTED_PROXIES. If this is your proxy, add it: " +
      `until then, everyone behind it ${effect}`;
    log.warn(warning, { peer });
    print?.(`${warning}. Address: ${peer}`);
  };
}
