// Pages of an organization, mounted twice: for its members in the portal, and for operators in the console.
import { showTimesIn } from "../../domain/presentation.ts";
import {
  activeAccess,
  type MemberAccess,
  type OperatorAccess,
  operatorAccess,
} from "../../services/access.ts";
import { organizationHref, organizationsHref } from "../../views/operator/links.ts";
import type { App, AppContext } from "../env.ts";
import type { Viewer } from "./form.ts";
import { type ConsoleActor, operatorForms, operatorFrame, operatorPages } from "./operator/page.ts";
import {
  home,
  memberRoutes,
  portalFrame,
  type PortalHandler,
  type PortalParts,
  type PortalRoutes,
} from "./page.ts";

/** A member who looks at pages of their active organization. */
export interface MemberViewer extends Viewer {
  readonly access: MemberAccess;
}

/** Mounts pages at `/portal` that only members use. Paths begin with a slash. */
export function memberPages(app: App, parts: PortalParts): PortalRoutes<MemberViewer> {
  const routes = memberRoutes(app, parts);
  const mount = (method: "get" | "post") => (path: string, handler: PortalHandler<MemberViewer>) =>
    routes[method](
      home + path,
      (c, actor) => handler(c, { access: activeAccess(actor), frame: portalFrame(parts, actor) }),
    );
  return { get: mount("get"), post: mount("post") };
}

/**
 * Mounts pages at `/portal` for members, and at `/operator/organizations/:id` for operators. Paths begin with a slash, and their
 * parameters are not called `:id`.
 */
export function organizationPages(app: App, parts: PortalParts): PortalRoutes<Viewer> {
  return mountedTwice(app, parts, operatorPages(app, parts));
}

/** Mounts pages whose only purpose is a form in the same way. Operators authenticate before they fill it in. */
export function organizationForms(app: App, parts: PortalParts): PortalRoutes<Viewer> {
  return mountedTwice(app, parts, operatorForms(app, parts));
}

function mountedTwice(
  app: App,
  parts: PortalParts,
  operators: PortalRoutes<ConsoleActor>,
): PortalRoutes<Viewer> {
  const members = memberPages(app, parts);
  const mount = (method: "get" | "post") => (path: string, handler: PortalHandler<Viewer>) => {
    members[method](path, handler);
    operators[method](
      `${organizationsHref}/:id${path}`,
      async (c, actor) => await handler(c, await operatorViewer(c, parts, actor)),
    );
  };
  return { get: mount("get"), post: mount("post") };
}

/** Returns the operator as the viewer of the organization in the path. @throws {AppError} `not_found`. */
export async function operatorViewer(
  c: AppContext,
  parts: PortalParts,
  actor: ConsoleActor,
): Promise<Viewer & { readonly access: OperatorAccess }> {
  const access = await operatorAccess(parts.services, actor, c.req.param("id") ?? "");
  const { organizationId: id, organizationName: name, timezone } = access;
  const own = actor.credential.session.preferences.timezone;
  showTimesIn({ timezone: own ?? timezone, organizationTimezone: timezone });
  const frame = { ...operatorFrame(parts, actor), base: organizationHref(id), viewed: { id, name } };
  return { access, frame };
}
