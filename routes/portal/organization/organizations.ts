// The pages of organizations: all of one's own, the active one, switching, handing over and deleting.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { forbiddenError } from "../../../domain/errors.ts";
import { pageItemsMax } from "../../../domain/limits.ts";
import { hasPermission, type Permission } from "../../../domain/permissions.ts";
import { countApiKeys } from "../../../services/api_keys.ts";
import { countMembers, listMembers } from "../../../services/organization/members.ts";
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  renameOrganization,
} from "../../../services/organization/organizations.ts";
import { deleteOrganizationPage } from "../../../views/organization/delete_organization.tsx";
import { handOverPage } from "../../../views/organization/transfer_ownership.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { organizationPage, type OrganizationPageProps } from "../../../views/organization/organization.tsx";
import {
  organizationsPage,
  type OrganizationsPageProps,
} from "../../../views/organization/organizations.tsx";
import { memberHref } from "../../../views/organization/member_table.tsx";
import { check } from "../../schemas/check.ts";
import { organizationNameSchema } from "../../schemas/people.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import {
  home,
  inOrganization,
  type MemberActor,
  organizationsHome,
  portalFrame,
  readOrganizationForm,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
  signedIn,
} from "../page.ts";
import { switchOrganization } from "../../../services/sign_in/sessions.ts";

const path = "/portal/organization";
/** Where switching may lead, and what the role must allow there. */
const switchTargets: ReadonlyMap<string, Permission | null> = new Map([
  ["/portal/api-keys", null],
  ["/portal/usage", "usage.read"],
  ["/portal/members", "members.read"],
  ["/portal/audit", "audit.read"],
  [path, null],
]);
const flashes: ReadonlyMap<string, string> = new Map([
  ["renamed", "The organization has its new name."],
  ["left", "You left the organization."],
  ["deleted", "The organization is deleted. Its keys are refused from now on."],
]);

/** Mounts `/portal/organizations`, `/portal/switch` and `/portal/organization`. */
export function portalOrganizationRoutes(app: App, parts: AppParts, assets: Assets): void {
  mountOwn(app, parts, assets);
  mountActive(app, parts, assets);
  mountHandOver(app, parts, assets);
  mountDelete(app, parts, assets);
}

/** All of a person's own. */
function mountOwn(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;

  async function list(
    c: AppContext,
    session: SessionActor,
    given: { form?: OrganizationsPageProps["form"]; status?: ContentfulStatusCode } = {},
  ): Promise<Response> {
    const page = organizationsPage({
      frame: portalFrame(parts, assets, session),
      organizations: await listOrganizations(services, session),
      form: given.form ?? { values: { name: "" }, fieldErrors: {}, error: null },
      flash: flash(c),
    });
    return sendPage(c, page, given.status);
  }

  app.get(organizationsHome, signedIn(parts, (c, session) => list(c, session)));

  app.post(
    organizationsHome,
    signedIn(parts, async (c, session) => {
      const form = await readFormBody(c);
      const typed = form["name"] ?? "";
      try {
        const { name } = check(organizationNameSchema, { name: typed }, "body");
        const { id: organizationId, role } = await createOrganization(services, session, name);
        const memberships = [...session.memberships, { organizationId, name, role }];
        await switchOrganization(services, { ...session, memberships }, organizationId);
        return redirect(c, "/portal/members?done=created", { frameChanges: true });
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const shown = { values: { name: typed }, fieldErrors: fields, error: message };
        return await list(c, session, { form: shown, status });
      }
    }),
  );

  app.post(
    "/portal/switch",
    signedIn(parts, async (c, session) => {
      const form = await readFormBody(c);
      const { organization } = await switchOrganization(
        parts.services,
        session,
        form["organizationId"] ?? "",
      );
      const target = form["return_to"] ?? "";
      const act = switchTargets.get(target);
      const mayGo = act === null ||
        (act !== undefined && organization !== null && hasPermission(organization.role, act));
      return redirect(c, mayGo ? target : home, { frameChanges: true });
    }),
  );
  // Whoever loads the address of the form again.
  app.get("/portal/switch", (c) => redirect(c, home));
}

/** The active one. */
function mountActive(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;

  async function show(
    c: AppContext,
    session: MemberActor,
    given: { form?: OrganizationPageProps["form"]; status?: ContentfulStatusCode } = {},
  ): Promise<Response> {
    const { organizationId } = session.organization;
    const [organization, counts] = await Promise.all([
      getOrganization(services, session, organizationId),
      countMembers(services, session, organizationId),
    ]);
    const page = organizationPage({
      frame: portalFrame(parts, assets, session),
      organization,
      isOnlyOwner: organization.role === "OWNER" && counts.OWNER === 1,
      form: given.form ?? { value: organization.name, fieldErrors: {}, error: null },
      flash: flash(c),
    });
    return sendPage(c, page, given.status);
  }

  app.get(path, inOrganization(parts, (c, session) => show(c, session)));

  app.post(
    path,
    inOrganization(parts, async (c, session) => {
      const form = await readOrganizationForm(c, session);
      const value = form["name"] ?? "";
      try {
        const { name } = check(organizationNameSchema, { name: value }, "body");
        await renameOrganization(services, session, { id: session.organization.organizationId, name });
        return redirect(c, `${path}?done=renamed`, { frameChanges: true });
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        return await show(c, session, { form: { value, fieldErrors: fields, error: message }, status });
      }
    }),
  );
}

/** Choosing the new owner; the page of that member asks once more. */
function mountHandOver(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;

  async function show(
    c: AppContext,
    session: MemberActor,
    fieldErrors: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    requireOwner(session);
    const { organizationId } = session.organization;
    const page = { limit: pageItemsMax };
    const { members: some, nextCursor } = await listMembers(services, session, { organizationId, ...page });
    const others = some.filter(({ user }) => user.id !== session.user.id);
    const view = handOverPage({
      frame: portalFrame(parts, assets, session),
      members: others,
      hasMore: nextCursor !== null,
      fieldErrors,
    });
    return sendPage(c, view, Object.keys(fieldErrors).length === 0 ? 200 : 422);
  }

  app.get(`${path}/hand-over`, inOrganization(parts, (c, session) => show(c, session)));

  app.post(
    `${path}/hand-over`,
    inOrganization(parts, async (c, session) => {
      const form = await readFormBody(c);
      const userId = form["userId"] ?? "";
      if (userId === "") return await show(c, session, { userId: "Choose who becomes the owner." });
      return redirect(c, memberHref(userId, "owner"));
    }),
  );
}

function mountDelete(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;

  async function show(
    session: MemberActor,
    given: { value: string; fieldErrors: Readonly<Record<string, string>>; error: string | null },
  ) {
    requireOwner(session);
    const [organization, counts] = await Promise.all([
      getOrganization(services, session, session.organization.organizationId),
      countApiKeys(services, session),
    ]);
    const frame = portalFrame(parts, assets, session);
    return deleteOrganizationPage({
      frame,
      organization,
      counts: { activeApiKeys: counts.active },
      ...given,
    });
  }

  app.get(
    `${path}/delete`,
    inOrganization(parts, async (c, session) => {
      requireOwner(session);
      return reauthenticationIfNeeded(c, parts, session) ??
        sendPage(c, await show(session, { value: "", fieldErrors: {}, error: null }));
    }),
  );

  app.post(
    `${path}/delete`,
    inOrganization(parts, async (c, session) => {
      const unproved = reauthenticationIfNeeded(c, parts, session);
      if (unproved !== null) return unproved;
      const form = await readFormBody(c);
      const value = form["name"] ?? "";
      const { organizationId } = session.organization;
      try {
        await deleteOrganization(services, session, { id: organizationId, confirmedName: value });
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const page = await show(session, { value, fieldErrors: fields, error: message });
        return sendPage(c, page, status);
      }
      return redirect(c, `${organizationsHome}?done=deleted`, { frameChanges: true });
    }),
  );
}

/** @throws {AppError} `forbidden`. */
function requireOwner({ organization }: MemberActor): void {
  if (!hasPermission(organization.role, "organization.manage")) throw forbiddenError();
}

function flash(c: AppContext): string | null {
  return c.req.method === "GET" ? flashes.get(c.req.query("done") ?? "") ?? null : null;
}
