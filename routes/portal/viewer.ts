// Pages of an organization, mounted for its members in the portal, for operators in the console, and for operators who view them as
// customer, without anything that acts.
import { showTimesIn } from "../../domain/presentation.ts";
import {
  activeAccess,
  type MemberAccess,
  type OperatorAccess,
  operatorAccess,
  operatorAccessTo,
  resolveOrganization,
} from "../../services/access/mod.ts";
import { getOrganization, viewingAccess } from "../../services/console/mod.ts";
import {
  customerViewHref,
  organizationHref,
  organizationsHref,
  startViewHref,
} from "../../views/components/links.ts";
import {
  type OrganizationHead,
  type OrganizationTab,
  organizationTabs,
  pagesOfTabs,
} from "../../views/components/organization_head.tsx";
import type { PageLink } from "../../views/components/page_head.tsx";
import type { Place, PortalFrame } from "../../views/layout.tsx";
import type { App, AppContext } from "../env.ts";
import { embeddedPages } from "./embed/pages.ts";
import type { Viewer } from "./form.ts";
import type { Pages } from "./noun_pages.ts";
import { readOrganizationHead } from "../console/organization_head.ts";
import { type ConsoleActor, operatorForms, operatorFrame, operatorPages } from "./operator_page.ts";
import {
  filteredRoutes,
  home,
  memberRoutes,
  portalFrame,
  type PortalHandler,
  type PortalParts,
  type PortalRoutes,
  redirect,
} from "./page.ts";

/** A member who looks at pages of their active organization. */
export interface MemberViewer extends Viewer {
  readonly access: MemberAccess;
}

/** An operator who looks at pages of an organization. */
export interface OperatorViewer extends Viewer {
  readonly access: OperatorAccess;
}

/** An operator who looks at a tab of an organization's page. */
export interface TabViewer extends OperatorViewer {
  readonly head: OrganizationHead;
}

const consolePath = `${organizationsHref}/:id`;

/** Mounts pages at `/portal` that only members use. Paths begin with a slash. */
export function memberPages(app: App, parts: PortalParts): PortalRoutes<MemberViewer> {
  return filteredRoutes(
    memberRoutes(app, parts),
    (handler) => (c, actor) => handler(c, { access: activeAccess(actor), frame: portalFrame(parts, actor) }),
    home,
  );
}

/**
 * Mounts pages at `/portal` for members, and at `/operator/organizations/:id` for operators; those that only read also below `view`
 * there, as customer; and some below `/embed`, for customers in a product's app. Paths begin with a slash, and their parameters are
 * not called `:id`.
 */
export function organizationPages(app: App, parts: PortalParts): PortalRoutes<Viewer> {
  const both = mountedForAll(app, parts, {
    operators: operatorPages(app, parts),
    embedded: embeddedPages(app, parts),
  });
  const viewed = customerViews(app, parts);
  return {
    post: both.post,
    get(path, handler) {
      both.get(path, handler);
      viewed.get(path, handler);
    },
  };
}

/**
 * Mounts pages whose only purpose is a form for members, operators and customers in a product's app. Operators authenticate before
 * they fill it in.
 */
export function organizationForms(app: App, parts: PortalParts): PortalRoutes<Viewer> {
  return mountedForAll(app, parts, {
    operators: operatorForms(app, parts),
    embedded: embeddedPages(app, parts, { areForms: true }),
  });
}

/** Mounts the pages about a noun for members and operators. @param options `path`: that of the list. */
export function organizationNounPages(
  app: App,
  parts: PortalParts,
  { place, path, label }: { place: Place; path: string; label: string },
): Pages<Viewer> {
  const backOf = ({ base }: PortalFrame) => ({ href: base + path, label });
  const pages = nounPagesOf(organizationPages(app, parts), { place, backOf });
  return { ...pages, forms: organizationForms(app, parts) };
}

/** Returns the pages about a noun for viewers of an organization. */
export function nounPagesOf<Actor extends Viewer>(
  routes: PortalRoutes<Actor>,
  { place, backOf }: { place: Place; backOf: (frame: PortalFrame) => PageLink },
): Pages<Actor> {
  return {
    ...routes,
    forms: routes,
    frameOf: ({ frame }) => frame,
    place,
    backOf: ({ frame }) => backOf(frame),
  };
}

/** Mounts pages that members have and the console has not, also for operators as customer. */
export function customerPages(app: App, parts: PortalParts): Pick<PortalRoutes<Viewer>, "get"> {
  const members = memberPages(app, parts);
  const viewed = customerViews(app, parts);
  return {
    get(path, handler) {
      members.get(path, handler);
      viewed.get(path, handler);
    },
  };
}

function mountedForAll(
  app: App,
  parts: PortalParts,
  { operators, embedded }: { operators: PortalRoutes<ConsoleActor>; embedded: PortalRoutes<Viewer> },
): PortalRoutes<Viewer> {
  const members = memberPages(app, parts);
  const mount = (method: "get" | "post") => (path: string, handler: PortalHandler<Viewer>) => {
    const tab = organizationTabs.find((one) => one.path === path)?.tab ?? pagesOfTabs[path];
    members[method](path, handler);
    embedded[method](path, handler);
    operators[method](consolePath + path, async (c, actor) =>
      await handler(
        c,
        tab === undefined ? await operatorViewer(c, parts, actor) : await tabViewer(c, parts, { actor, tab }),
      ));
  };
  return { get: mount("get"), post: mount("post") };
}

/** Mounts pages for operators who have started to view the organization. Others are asked whether to start. */
function customerViews(app: App, parts: PortalParts): Pick<PortalRoutes<Viewer>, "get"> {
  const { services } = parts;
  const { get } = operatorPages(app, parts);
  return {
    get: (path, handler) =>
      get(`${consolePath}/view${path}`, async (c, actor) => {
        const organization = await resolveOrganization(services, c.req.param("id") ?? "");
        const access = await viewingAccess(services, actor, organization);
        if (access === null) return redirect(c, startViewHref(organization.id), { frameChanges: true });
        const { organizationId, organizationName: name, timezone } = access;
        showTimesIn({ timezone, organizationTimezone: timezone });
        const suspended = organization.suspendedAt !== null;
        const frame = portalFrame(parts, {
          ...actor.credential.session,
          organization: { organizationId, name, role: "OWNER", suspended, timezone, features: [] },
          memberships: [],
        });
        const base = customerViewHref(organizationId);
        return await handler(c, { access, frame: { ...frame, base, isReadOnly: true } });
      }),
  };
}

/** Returns the operator as the viewer of the organization in the path. @throws {AppError} `not_found`. */
export async function operatorViewer(
  c: AppContext,
  parts: PortalParts,
  actor: ConsoleActor,
): Promise<OperatorViewer> {
  const access = await operatorAccess(parts.services, actor, c.req.param("id") ?? "");
  showTimesOf(access, actor);
  return { access, frame: viewedFrame(parts, actor, { access, head: null }) };
}

/** Returns the operator as the viewer of a tab of the organization in the path. @throws {AppError} `not_found`. */
export async function tabViewer(
  c: AppContext,
  parts: PortalParts,
  { actor, tab }: { actor: ConsoleActor; tab: OrganizationTab },
): Promise<TabViewer> {
  const organization = await getOrganization(parts.services, c.req.param("id") ?? "");
  const access = operatorAccessTo(actor, organization);
  showTimesOf(access, actor);
  const head = await readOrganizationHead(parts, access, { organization, tab });
  return { access, head, frame: viewedFrame(parts, actor, { access, head }) };
}

/** Shows times in the zone that the operator has chosen, or else in the organization's. */
function showTimesOf({ timezone }: OperatorAccess, { credential: { session } }: ConsoleActor): void {
  showTimesIn({ timezone: session.preferences.timezone ?? timezone, organizationTimezone: timezone });
}

function viewedFrame(
  parts: PortalParts,
  actor: ConsoleActor,
  { access: { organizationId: id, organizationName: name }, head }: {
    access: OperatorAccess;
    head: OrganizationHead | null;
  },
) {
  return { ...operatorFrame(parts, actor), base: organizationHref(id), viewed: { id, name, head } };
}
