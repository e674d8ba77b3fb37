// The pages of a person's own identities at providers, and the visits to providers that begin there.
import type { SessionActor } from "../../../domain/access/actor.ts";
import { beginLink, getIdentity, unlinkIdentity } from "../../../services/people/mod.ts";
import {
  identitiesPath as path,
  providerPage,
  removeIdentityPage,
} from "../../../views/people/identities.tsx";
import { securityLink } from "../../../views/people/two_step.tsx";
import { readFormBody } from "../../body.ts";
import { providerVisitTokens, setProviderVisitCookie } from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { mountFormPage, ownPages, paramOf } from "../noun_pages.ts";
import {
  askToReauthenticate,
  gateFrame,
  needsReauthentication,
  type PortalParts,
  redirect,
  sendPage,
  signedInRoutes,
} from "../page.ts";

export function portalIdentityRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const routes = signedInRoutes(app, parts);
  const pages = ownPages(app, parts, { place: "security", back: securityLink });
  const identityOf = (c: AppContext, session: SessionActor) =>
    getIdentity(services, session, paramOf(c, "id"));

  routes.post(`${path}/link`, async (c, session) => {
    const { provider = "" } = await readFormBody(c);
    const returnTo = `${securityLink.href}?done=connected`;
    try {
      return await goToProvider(
        c,
        parts,
        (browserTokens) => beginLink(services, session, { provider, returnTo, browserTokens }),
      );
    } catch (error) {
      if (needsReauthentication(error)) return askToReauthenticate(c, securityLink.href);
      throw error;
    }
  });
  // Reloading the page that opens a provider.
  app.get(`${path}/link`, (c) => redirect(c, securityLink.href));

  mountFormPage(pages, {
    path: `${path}/:id/remove`,
    show: async (c, form, session) => removeIdentityPage(form, await identityOf(c, session)),
    async submit(c, session) {
      await unlinkIdentity(services, session, paramOf(c, "id"));
      return `${securityLink.href}?done=disconnected`;
    },
    reauthenticateFor: (c) => `${path}/${encodeURIComponent(paramOf(c, "id"))}/remove`,
  });
}

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
