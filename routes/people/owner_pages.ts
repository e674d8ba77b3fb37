// Pages about the active organization for owners who authenticated recently.
import { requirePermission } from "../../services/access/mod.ts";
import type { PageLink } from "../../views/components/page_head.tsx";
import type { App, AppContext } from "../env.ts";
import { mountFormPage, type Pages } from "../portal/noun_pages.ts";
import { type PortalParts, reauthenticationIfNeeded } from "../portal/page.ts";
import { memberPages, type MemberViewer, nounPagesOf } from "../portal/viewer.ts";

/** Mounts pages for owners. @param back The link to the page to which the others lead back. */
export function ownerPages(app: App, parts: PortalParts, back: PageLink): Pages<MemberViewer> {
  const { get, post } = memberPages(app, parts);
  return nounPagesOf({
    post,
    get: (path, handler) => get(path, (c, viewer) => askOwner(c, parts, viewer) ?? handler(c, viewer)),
  }, { place: "organization", backOf: () => back });
}

/** Mounts a form on {@linkcode ownerPages}, which also asks when it is sent, once it is known which organization it is about. */
export function mountOwnerForm(
  pages: Pages<MemberViewer>,
  parts: PortalParts,
  { submit, ...page }: Parameters<typeof mountFormPage<MemberViewer>>[1],
): void {
  mountFormPage(pages, {
    ...page,
    submit: async (c, viewer, input) => askOwner(c, parts, viewer) ?? await submit(c, viewer, input),
  });
}

/** Redirects owners without a recent authentication. @returns Null after one. @throws {AppError} `forbidden` for others. */
function askOwner(c: AppContext, parts: PortalParts, { access }: MemberViewer): Response | null {
  requirePermission(access, "organization.manage");
  return reauthenticationIfNeeded(c, parts, access.actor);
}
