// Begins visits to providers.
import { redirectCard } from "../../views/components/gate_card.tsx";
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
  return await sendToProvider(c, parts, await beginVisit(c, parts, begin));
}

/** Redirects to a provider after a form: Chromium applies `form-action` to redirects of forms, so a page leads on. */
export async function sendToProvider(c: AppContext, parts: PortalParts, { host, href }: URL) {
  const text = (
    <>
      Continuing to <bdi>{host}</bdi>.
    </>
  );
  const card = { frame: gateFrame(parts), title: "Continue to your provider", text, href };
  return await sendPage(c, redirectCard(card));
}
