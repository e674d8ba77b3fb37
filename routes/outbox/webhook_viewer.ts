// Pages of webhook endpoints, mounted for an organization's members, for operators in an organization, and for operators' own.
import { ownerScope, type WebhookOwner } from "../../services/outbox/mod.ts";
import type { PortalFrame } from "../../views/layout.tsx";
import type { App } from "../env.ts";
import type { Viewer } from "../portal/form.ts";
import type { Pages } from "../portal/noun_pages.ts";
import { type ConsoleActor, consolePages, operatorFrame, operatorHome } from "../portal/operator_page.ts";
import {
  filteredRoutes,
  type PortalParts,
  type PortalRoutes,
  reauthenticationIfNeeded,
} from "../portal/page.ts";
import { organizationForms, organizationPages } from "../portal/viewer.ts";

/** Someone who looks at webhook endpoints. The pages' addresses begin with `frame.base`. */
export type WebhookViewer = (Viewer | ConsoleActor) & {
  readonly owner: WebhookOwner;
  readonly frame: PortalFrame;
};

/** Returns the ways to mount pages of endpoints: of an organization, and of operators. Paths begin with `/webhooks`. */
export function webhookPages(app: App, parts: PortalParts): readonly Pages<WebhookViewer>[] {
  const ofOperators = consolePages(app, parts, "operator/webhooks");
  const viewed = {
    frameOf: ({ frame }: WebhookViewer) => frame,
    backOf: ({ frame }: WebhookViewer) => ({ href: `${frame.base}/webhooks`, label: "Webhooks" }),
  };
  return [
    {
      ...viewed,
      ...filteredRoutes(organizationPages(app, parts), (handler) => (c, viewer) => {
        const owner = { access: viewer.access };
        ownerScope(owner, "webhooks.read");
        return handler(c, { ...viewer, owner });
      }),
      forms: filteredRoutes(organizationForms(app, parts), (handler) => (c, viewer) => {
        const { access } = viewer;
        const owner = { access };
        ownerScope(owner, "webhooks.manage");
        // Members authenticate before they fill in a form, as operators do.
        const asked = access.role === null ? null : reauthenticationIfNeeded(c, parts, access.actor);
        return asked ?? handler(c, { ...viewer, owner });
      }),
      place: "webhooks",
    },
    {
      ...viewed,
      ...forOperators(ofOperators, parts),
      forms: forOperators(ofOperators.forms, parts),
      place: ofOperators.place,
    },
  ];
}

function forOperators(routes: PortalRoutes<ConsoleActor>, parts: PortalParts): PortalRoutes<WebhookViewer> {
  return filteredRoutes(routes, (handler) => (c, actor) => {
    const frame = { ...operatorFrame(parts, actor), base: operatorHome };
    return handler(c, { ...actor, owner: { operator: actor }, frame });
  }, operatorHome);
}
