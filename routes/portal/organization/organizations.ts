// The pages of organizations: list, create, switch, rename, transfer, delete.
import { forbiddenError, validationError } from "../../../domain/errors.ts";
import { pageItemsMax } from "../../../domain/limits.ts";
import { hasPermission, type Permission } from "../../../domain/permissions.ts";
import { activeAccess } from "../../../services/access.ts";
import { countActiveApiKeys } from "../../../services/api_keys.ts";
import { countMembers, getMember, listMembers } from "../../../services/organization/members.ts";
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  renameOrganization,
  transferOrganization,
} from "../../../services/organization/organizations.ts";
import { switchOrganization } from "../../../services/sign_in/sessions.ts";
import { organizationPage } from "../../../views/organization/organization.tsx";
import {
  deleteOrganizationPage,
  transferOrganizationPage,
} from "../../../views/organization/organization_danger_zone.tsx";
import { organizationsPage } from "../../../views/organization/organizations.tsx";
import { readFormBody } from "../../body.ts";
import type { App } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { organizationNameSchema } from "../../schemas/people.ts";
import { flashAbout, flashOf, mountForm, queryOf } from "../form.ts";
import {
  home,
  type MemberActor,
  memberRoutes,
  organizationsHome,
  portalFrame,
  type PortalParts,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
  signedInRoutes,
} from "../page.ts";

const path = "/portal/organization";
/** The pages that switching can return to, with the permission that each requires. */
const switchTargets: ReadonlyMap<string, Permission | null> = new Map([
  [home, null],
  ["/portal/api-keys", null],
  ["/portal/usage", "usage.read"],
  ["/portal/members", "members.read"],
  ["/portal/audit", "audit.read"],
  [path, null],
]);

/** Mounts `/portal/organizations`, `/portal/switch` and `/portal/organization`. */
export function portalOrganizationRoutes(app: App, parts: PortalParts): void {
  listRoutes(app, parts);
  switchRoutes(app, parts);
  activeRoutes(app, parts);
  transferRoutes(app, parts);
  deleteRoutes(app, parts);
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
      const memberships = [...session.memberships, { organizationId, name, role, suspended: false }];
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

function activeRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path,
    async show(c, session, { input, ...state }) {
      const { organizationId } = session.organization;
      const [organization, counts] = await Promise.all([
        getOrganization(services, session, organizationId),
        countMembers(services, session, organizationId),
      ]);
      const page = organizationPage({
        frame: portalFrame(parts, session),
        organization,
        isOnlyOwner: organization.role === "OWNER" && counts.OWNER === 1,
        form: { ...state, value: input === undefined ? organization.name : input["name"] ?? "" },
        flash: await flashAbout(c, {
          renamed: () => `Renamed to “${organization.name}”.`,
          transferred: async (userId) => {
            const { user } = await getMember(services, session, { organizationId, userId });
            return `${user.name} is now an owner, and you are an admin.`;
          },
        }),
      });
      return sendPage(c, page, state.status);
    },
    async submit(c, session, input) {
      const { name } = check(organizationNameSchema, { name: input["name"] ?? "" }, "body");
      await renameOrganization(services, session, { id: session.organization.organizationId, name });
      return redirect(c, `${path}?done=renamed`, { frameChanges: true });
    },
  });
}

function transferRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const transferPath = `${path}/transfer`;
  mountForm(memberRoutes(app, parts), {
    path: transferPath,
    async show(c, session, { input, ...state }) {
      requireOwner(session);
      const reauthentication = reauthenticationIfNeeded(c, parts, session);
      if (reauthentication !== null) return reauthentication;
      const { members, nextCursor } = await listMembers(services, session, {
        organizationId: session.organization.organizationId,
        limit: pageItemsMax,
        cursor: queryOf(c, "cursor"),
      });
      const page = transferOrganizationPage({
        frame: portalFrame(parts, session),
        members: members.filter(({ user }) => user.id !== session.user.id),
        nextHref: nextCursor && `${transferPath}?cursor=${nextCursor}`,
        value: input?.["userId"] ?? "",
        ...state,
      });
      return sendPage(c, page, state.status);
    },
    async submit(c, session, { userId = "" }) {
      requireOwner(session);
      const reauthentication = reauthenticationIfNeeded(c, parts, session);
      if (reauthentication !== null) return reauthentication;
      if (userId === "") throw validationError([{ path: "userId", message: "Choose the new owner." }]);
      await transferOrganization(services, session, { id: session.organization.organizationId, userId });
      return redirect(c, `${path}?done=transferred&id=${userId}`, { frameChanges: true });
    },
  });
}

function deleteRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/delete`,
    async show(c, session, { input, ...state }) {
      requireOwner(session);
      const reauthentication = reauthenticationIfNeeded(c, parts, session);
      if (reauthentication !== null) return reauthentication;
      const [organization, activeApiKeys] = await Promise.all([
        getOrganization(services, session, session.organization.organizationId),
        countActiveApiKeys(services, activeAccess(session)),
      ]);
      const frame = portalFrame(parts, session);
      const typed = { activeApiKeys, value: input?.["name"] ?? "" };
      return sendPage(c, deleteOrganizationPage({ frame, organization, ...typed, ...state }), state.status);
    },
    async submit(c, session, { name = "" }) {
      const reauthentication = reauthenticationIfNeeded(c, parts, session);
      if (reauthentication !== null) return reauthentication;
      const { organizationId: id } = session.organization;
      await deleteOrganization(services, session, { id, confirmedName: name });
      return redirect(c, `${organizationsHome}?done=deleted`, { frameChanges: true });
    },
  });
}

/** @throws {AppError} `forbidden`. */
function requireOwner({ organization }: MemberActor): void {
  if (!hasPermission(organization.role, "organization.manage")) throw forbiddenError();
}
