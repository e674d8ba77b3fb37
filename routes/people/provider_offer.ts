// The providers that pages for signing in offer, and the way that a browser used last.
import type { Config } from "../../config.ts";
import { offeredWays } from "../../services/people/mod.ts";
import type { ProviderOffer } from "../../views/people/provider_buttons.tsx";
import { lastMethod, setLastMethodCookie } from "../cookies.ts";
import type { AppContext } from "../env.ts";
import type { PortalParts } from "../portal/page.ts";

/** Reads the providers and whether a page offers single sign-on. If that fails, the page offers only its other ways. */
export async function providerOffer(c: AppContext, { services }: PortalParts): Promise<ProviderOffer> {
  const ways = await offeredWays(services).catch((error) => {
    services.onBackgroundError(error);
    return { providers: [], hasSingleSignOn: false };
  });
  return { ...ways, lastUsed: lastMethod(c) };
}

/** Remembers another way than a provider, if this browser has used one before. */
export function noteOtherMethod(c: AppContext, config: Config, method: "password" | "passkey"): void {
  const last = lastMethod(c);
  if (last !== null && last !== method) setLastMethodCookie(c, config, method);
}
