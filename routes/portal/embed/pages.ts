// Pages of an organization below /embed, for the portal sessions that have them.
import { forbiddenError, notFoundError } from "../../../domain/errors.ts";
import { portalPageOf } from "../../../domain/keys/portal_session.ts";
import { portalSessionAccess } from "../../../services/keys/mod.ts";
import type { App } from "../../env.ts";
import type { Viewer } from "../form.ts";
import type { PortalHandler, PortalParts, PortalRoutes } from "../page.ts";
import { presented } from "../presented.ts";
import { embedFrame, embedPath, readPortalSession, sessionOver, shownSession } from "./session.ts";

/**
 * Mounts those of an organization's pages that portal sessions can have. To sessions without the page it doesn't exist, and those
 * that only read get no form. Paths begin with a slash.
 *
 * @param options `areForms`: the only purpose of these pages is a form.
 */
export function embeddedPages(
  app: App,
  parts: PortalParts,
  { areForms = false } = {},
): PortalRoutes<Viewer> {
  const mount = (method: "get" | "post") => (path: string, handler: PortalHandler<Viewer>) => {
    const page = portalPageOf(path);
    if (page === null) return;
    const changes = areForms || method === "post";
    app[method](embedPath + path, async (c) => {
      const found = await readPortalSession(c, parts);
      if (found === null) return await sessionOver(c, parts);
      if (!found.pages.includes(page)) throw notFoundError();
      if (changes && found.isReadOnly) throw forbiddenError();
      const viewer = {
        access: portalSessionAccess(found, c.get("client")),
        frame: embedFrame(c, parts, found),
      };
      return await presented(c, parts, { session: shownSession(c, found), run: () => handler(c, viewer) });
    });
  };
  return { get: mount("get"), post: mount("post") };
}
