// The pages of organizations: list, create, switch, rename, transfer, delete.
import { validationError } from "../../../domain/errors.ts";
import { pageItemsMax } from "../../../domain/limits.ts";
import { hasPermission, type Permission } from "../../../domain/access/permissions.ts";
import { countActiveApiKeys } from "../../../services/keys/mod.ts";
import {
  countMembers,
  createOrganization,
  deleteOrganization,
  getMember,
  getOrganization,
  listMembers,
  listOrganizations,
  renameOrganization,
  summarizeCompanySignIn,
  switchOrganization,
  transferOrganization,
} from "../../../services/people/mod.ts";
import { organizationPage } from "../../../views/people/organization.tsx";
import {
  deleteOrganizationPage,
  transferOrganizationPage,
} from "../../../views/people/organization_danger_zone.tsx";
import { organizationsPage } from "../../../views/people/organizations.tsx";
import { readFormBody } from "../../body.ts";
import type { App } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { organizationNameSchema } from "../../schemas/people.ts";
import { flashAbout, flashOf, mountForm, queryOf } from "../form.ts";
import { mountFormPage, type Pages } from "../noun_pages.ts";
import {
  home,
  organizationsHome,
  portalFrame,
  type PortalParts,
  redirect,
  sendPage,
  signedInRoutes,
} from "../page.ts";
import { memberPages, type MemberViewer, nounPagesOf } from "../viewer.ts";
import { askOwner, ownerPages } from "./owner_pages.ts";

const path = "/organization";
/** The pages that switching can return to, with the permission that each requires. */
const switchTargets: ReadonlyMap<string, Permission | null> = new Map([
  [home, null],
  ["/portal/api-keys", null],
  ["/portal/usage", "usage.read"],
  ["/portal/members", "members.read"],
  ["/portal/audit", "audit.read"],
  [home + path, null],
]);

export function portalOrganizationRoutes(app: App, parts: PortalParts): void {
  listRoutes(app, parts);
  switchRoutes(app, parts);
  activePage(app, parts);
  const backOf = () => ({ href: home + path, label: "Organization" });
  const pages = nounPagesOf(ownerPages(app, parts), { place: "organization", backOf });
  transferPage(pages, parts);
  deletePage(pages, parts);
}

function listRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(signedInRoutes(app, parts), {
    path: organizationsHome,
    async show(c, session, state) {
      const page = organizationsPage({
        frame: portalFrame(parts, session),
        organizations: await listOrganizations(services, session),
        form: { ...state, value: state.input?.["name"] ?? "" },
        flash: flashOf(c, {
          left: "You left the organization.",
          deleted: "Organization deleted. Its keys no longer work.",
        }),
      });
      return sendPage(c, page, state.status);
    },
    async submit(c, session, input) {
      const { name } = check(organizationNameSchema, { name: input["name"] ?? "" }, "body");
      const { id: organizationId, role } = await createOrganization(services, session, name);
      const membership = { organizationId, name, role, suspended: false, timezone: "UTC", features: [] };
      const memberships = [...session.memberships, membership];
      await switchOrganization(services, { ...session, memberships }, organizationId);
      return redirect(c, "/portal/members?done=created", { frameChanges: true });
    },
  });
}

function switchRoutes(app: App, parts: PortalParts): void {
  const { post } = signedInRoutes(app, parts);
  post("/portal/switch", async (c, session) => {
    const { organizationId = "", return_to: target = "" } = await readFormBody(c);
    const { organization } = await switchOrganization(parts.services, session, organizationId);
    const permission = switchTargets.get(target);
    const canGo = permission === null ||
      (permission !== undefined && organization !== null && hasPermission(organization.role, permission));
    return redirect(c, canGo ? target : home, { frameChanges: true });
  });
  // For people who reload the address of the form.
  app.get("/portal/switch", (c) => redirect(c, home));
}

function activePage(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberPages(app, parts), {
    path,
    async show(c, { access, frame }, { input, ...state }) {
      const [organization, counts, sso] = await Promise.all([
        getOrganization(services, access),
        countMembers(services, access),
        summarizeCompanySignIn(services, access),
      ]);
      const page = organizationPage({
        frame,
        organization,
        sso,
        isOnlyOwner: organization.role === "OWNER" && counts.OWNER === 1,
        form: { ...state, value: input === undefined ? organization.name : input["name"] ?? "" },
        flash: await flashAbout(c, {
          renamed: () => `Renamed to “${organization.name}”.`,
          transferred: async (userId) => {
            const { user } = await getMember(services, access, userId);
            return `${user.name} is now an owner, and you are an admin.`;
          },
        }),
      });
      return sendPage(c, page, state.status);
    },
    async submit(c, { access }, input) {
      const { name } = check(organizationNameSchema, { name: input["name"] ?? "" }, "body");
      await renameOrganization(services, access, name);
      return redirect(c, `${home}${path}?done=renamed`, { frameChanges: true });
    },
  });
}

function transferPage(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services } = parts;
  const transferPath = `${path}/transfer`;
  mountFormPage(pages, {
    path: transferPath,
    async show(c, form, { access }) {
      const { members, nextCursor } = await listMembers(services, access, {
        limit: pageItemsMax,
        cursor: queryOf(c, "cursor"),
      });
      return transferOrganizationPage(form, {
        members: members.filter(({ user }) => user.id !== access.actor.user.id),
        nextHref: nextCursor && `${home}${transferPath}?cursor=${nextCursor}`,
      });
    },
    async submit(c, viewer, { userId = "" }) {
      const { access } = viewer;
      const redirected = askOwner(c, parts, viewer);
      if (redirected !== null) return redirected;
      if (userId === "") throw validationError([{ path: "userId", message: "Choose the new owner." }]);
      await transferOrganization(services, access, userId);
      return redirect(c, `${home}${path}?done=transferred&id=${userId}`, { frameChanges: true });
    },
  });
}

function deletePage(pages: Pages<MemberViewer>, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(pages, {
    path: `${path}/delete`,
    async show(_c, form, { access }) {
      const [organization, activeApiKeys] = await Promise.all([
        getOrganization(services, access),
        countActiveApiKeys(services, access),
      ]);
      return deleteOrganizationPage(form, { organization, activeApiKeys });
    },
    async submit(c, viewer, { name = "" }) {
      const redirected = askOwner(c, parts, viewer);
      if (redirected !== null) return redirected;
      await deleteOrganization(services, viewer.access, name);
      return redirect(c, `${organizationsHome}?done=deleted`, { frameChanges: true });
    },
  });
}
