// The console's pages of one organization that customers have not. The other tabs are the customers' pages.
import { presentation } from "../../../domain/presentation.ts";
import { listGrants, readLimitMailReach, readProductNames } from "../../../services/meter/mod.ts";
import { getCompanySignIn } from "../../../services/people/mod.ts";
import { listNotes } from "../../../services/console/mod.ts";
import { grantsShownMax } from "../../../views/meter/grants.tsx";
import { organizationHref, organizationsHref } from "../../../views/components/links.ts";
import { organizationLimitsPage, organizationOverviewPage } from "../../../views/console/organization.tsx";
import type { App, AppContext } from "../../env.ts";
import { flashOf } from "../form.ts";
import { readMonth } from "../overview.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { tabViewer } from "../viewer.ts";
import { operatorPages } from "./page.ts";

const notesShownMax = 3;
const path = `${organizationsHref}/:id`;
const flashes = {
  created: "Organization created.",
  saved: "Changes saved.",
  suspended: "Organization suspended. Requests with its keys fail.",
  resumed: "Organization resumed. Its keys work again.",
  "sso-stopped": "Single sign-on is no longer required.",
  granted: "Grant added. It raises the limit immediately.",
  "grant-voided": "Grant voided.",
  noted: "Note added.",
  "note-deleted": "Note deleted.",
};

export function operatorOrganizationTabs(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);

  get(path, async (c, actor) => {
    const viewer = await tabViewer(c, parts, { actor, tab: "overview" });
    const { frame, head, access: { organizationId } } = viewer;
    const { timezone } = presentation();
    const [{ numbers, usage }, sso, { notes, nextCursor }] = await Promise.all([
      readMonth(parts, viewer, { metric: c.req.query("metric") || null, timezone }),
      getCompanySignIn(services, viewer.access),
      listNotes(services, { organizationId, limit: notesShownMax, cursor: c.req.query("notes") }),
    ]);
    const page = organizationOverviewPage({
      frame,
      head,
      numbers,
      usage,
      sso,
      notes,
      olderNotesHref: nextCursor && `${organizationHref(organizationId)}?notes=${nextCursor}`,
      catalogue: numbers?.catalogue ?? await readProductNames(services),
      flash: flashOf(c, flashes),
    });
    return await sendPage(c, page);
  });

  get(`${path}/limits`, async (c, actor) => {
    const { frame, head, access } = await tabViewer(c, parts, { actor, tab: "limits" });
    const mailReach = await readLimitMailReach(services, access);
    const catalogue = await readProductNames(services);
    const { grants } = await listGrants(services, access, { limit: grantsShownMax });
    const page = organizationLimitsPage({
      frame,
      head,
      mailReach,
      grants,
      catalogue,
      flash: flashOf(c, flashes),
    });
    return await sendPage(c, page);
  });
}

/** Returns the text that names the organization in the path: its id, or `external:` and its external id. */
export function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}
