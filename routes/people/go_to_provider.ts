// Begins visits to providers.
import { providerPage } from "../../views/people/identities.tsx";
import { providerVisitTokens, setProviderVisitCookie } from "../cookies.ts";
import type { AppContext } from "../env.ts";
import { gateFrame, type PortalParts, sendPage } from "../portal/page.ts";

/** Begins a visit to a provider, and sends the browser there. */
export async function goToProvider(
  c: AppContext,
  parts: PortalParts,
  begin: (browserTokens: readonly string[]) => Promise<{ url: URL; browserToken: string }>,
): Promise<Response> {
  const { url, browserToken } = await begin(providerVisitTokens(c.get("headers")["cookie"], parts.config));
  setProviderVisitCookie(c, parts.config, browserToken);
  return await sendPage(c, providerPage({ frame: gateFrame(parts), url }));
}
