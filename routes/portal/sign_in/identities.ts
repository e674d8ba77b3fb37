// The pages of a person's own identities at providers, and the visits to providers that begin there.
import type { SessionActor } from "../../../domain/actor.ts";
import { getIdentity, requireLinkable, unlinkIdentity } from "../../../services/sign_in/identities.ts";
import {
  identitiesPath as path,
  providerPage,
  removeIdentityPage,
} from "../../../views/sign_in/identities.tsx";
import { securityLink } from "../../../views/sign_in/two_step.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { beginOwnVisit } from "../../provider_visit.ts";
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
      const linked = await requireLinkable(services, session, provider);
      const visit = { provider: linked, purpose: "link", returnTo, session } as const;
      const url = await beginOwnVisit(c, parts, visit);
      return await sendPage(c, providerPage({ frame: gateFrame(parts), url }));
    } catch (error) {
      if (needsReauthentication(error)) return askToReauthenticate(c, securityLink.href);
      throw error;
    }
  });
  // Reloading the page that leads to a provider.
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
