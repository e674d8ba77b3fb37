// Pages of webhook endpoints, mounted for an organization's members, for operators in an organization, and for operators' own.
import { ownerScope, type WebhookOwner } from "../../services/webhooks/webhook_owner.ts";
import type { PortalFrame } from "../../views/layout.tsx";
import type { App, AppContext } from "../env.ts";
import type { Viewer } from "./form.ts";
import { type Pages, paramOf } from "./noun_pages.ts";
import { type ConsoleActor, operatorForms, operatorFrame, operatorPages } from "./operator/page.ts";
import { type PortalHandler, type PortalParts, type PortalRoutes, reauthenticationIfNeeded } from "./page.ts";
import { organizationForms, organizationPages } from "./viewer.ts";

/** Someone who looks at webhook endpoints. The pages' addresses begin with `frame.base`. */
export type WebhookViewer = (Viewer | ConsoleActor) & {
  readonly owner: WebhookOwner;
  readonly frame: PortalFrame;
};

export function webhookIdOf(c: AppContext): string {
  return paramOf(c, "webhookId");
}

/** Returns the ways to mount pages of endpoints: of an organization, and of operators. Paths begin with `/webhooks`. */
export function webhookPages(app: App, parts: PortalParts): readonly Pages<WebhookViewer>[] {
  const { get, post } = organizationPages(app, parts);
  const forms = organizationForms(app, parts);
  const own = operatorPages(app, parts);
  const ownForms = operatorForms(app, parts);
  const frameOf = ({ frame }: WebhookViewer) => frame;
  const backOf = ({ frame }: WebhookViewer) => ({ href: `${frame.base}/webhooks`, label: "Webhooks" });
  return [
    {
      ...forOrganization({ get, post }),
      forms: forOrganization(forms, parts),
      frameOf,
      place: "webhooks",
      backOf,
    },
    {
      ...forOperators(own, parts),
      forms: forOperators(ownForms, parts),
      frameOf,
      place: "operator/webhooks",
      backOf,
    },
  ];
}

/** @param parts For forms: members authenticate before they fill them in, as operators do. */
function forOrganization(routes: PortalRoutes<Viewer>, parts?: PortalParts): PortalRoutes<WebhookViewer> {
  const mount = (method: "get" | "post") => (path: string, handler: PortalHandler<WebhookViewer>) =>
    routes[method](path, (c, viewer) => {
      const { access } = viewer;
      const owner = { access };
      ownerScope(owner, parts === undefined ? "webhooks.read" : "webhooks.manage");
      const asked = parts === undefined || access.role === null
        ? null
        : reauthenticationIfNeeded(c, parts, access.actor);
      return asked ?? handler(c, { ...viewer, owner });
    });
  return { get: mount("get"), post: mount("post") };
}

function forOperators(routes: PortalRoutes<ConsoleActor>, parts: PortalParts): PortalRoutes<WebhookViewer> {
  const mount = (method: "get" | "post") => (path: string, handler: PortalHandler<WebhookViewer>) =>
    routes[method](`/operator${path}`, (c, actor) => {
      const frame = { ...operatorFrame(parts, actor), base: "/operator" };
      return handler(c, { ...actor, owner: { operator: actor }, frame });
    });
  return { get: mount("get"), post: mount("post") };
}
