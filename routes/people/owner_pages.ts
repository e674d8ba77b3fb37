// Pages about the active organization for owners who authenticated recently.
import { requirePermission } from "../../services/access/mod.ts";
import type { App, AppContext } from "../env.ts";
import { type PortalParts, type PortalRoutes, reauthenticationIfNeeded } from "../portal/page.ts";
import { memberPages, type MemberViewer } from "../portal/viewer.ts";

/** Mounts pages for owners. Forms are checked with {@linkcode askOwner} once it is known which organization they are about. */
export function ownerPages(app: App, parts: PortalParts): PortalRoutes<MemberViewer> {
  const { get, post } = memberPages(app, parts);
  return {
    post,
    get: (path, handler) => get(path, (c, viewer) => askOwner(c, parts, viewer) ?? handler(c, viewer)),
  };
}

/** Redirects owners without a recent authentication. @returns Null after one. @throws {AppError} `forbidden` for others. */
export function askOwner(c: AppContext, parts: PortalParts, { access }: MemberViewer): Response | null {
  requirePermission(access, "organization.manage");
  return reauthenticationIfNeeded(c, parts, access.actor);
}
