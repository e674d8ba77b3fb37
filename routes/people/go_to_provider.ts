// Begins visits to providers.
import { providerPage } from "../../views/people/identities.tsx";
import { providerVisitTokens, setProviderVisitCookie } from "../cookies.ts";
import type { AppContext, AppParts } from "../env.ts";
import { gateFrame, type PortalParts, sendPage } from "../portal/page.ts";

type Begin = (browserTokens: readonly string[]) => Promise<{ url: URL; browserToken: string }>;

/** Begins a visit with the browser's cookie. Returns the address to visit. */
export async function beginVisit(c: AppContext, { config }: AppParts, begin: Begin): Promise<URL> {
  const { url, browserToken } = await begin(providerVisitTokens(c.get("headers")["cookie"], config));
  setProviderVisitCookie(c, config, browserToken);
  return url;
}

/** Begins a visit, and sends the browser there. */
export async function goToProvider(c: AppContext, parts: PortalParts, begin: Begin): Promise<Response> {
  return await sendPage(
    c,
    providerPage({ frame: gateFrame(parts), url: await beginVisit(c, parts, begin) }),
  );
}
