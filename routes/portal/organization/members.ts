// The pages of members: the list with what whoever looks may do, roles, removal, leaving, and handing the organization over.
// What may be done is only offered here: the verbs decide, each time anew.
import { type ErrorDetail, forbiddenError, validationError } from "../../../domain/errors.ts";
import { hasPermission } from "../../../domain/permissions.ts";
import type { Role } from "../../../domain/sign_in/session.ts";
import {
  changeMemberRole,
  countMembers,
  getMember,
  type Member,
  removeMember,
} from "../../../services/organization/members.ts";
import { transferOrganization } from "../../../services/organization/organizations.ts";
import type { MemberAct } from "../../../views/organization/member_table.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { leaveOrganizationPage } from "../../../views/organization/leave_organization.tsx";
import { makeOwnerPage } from "../../../views/organization/make_owner.tsx";
import { memberRolePage } from "../../../views/organization/member_role.tsx";
import { removeMemberPage } from "../../../views/organization/remove_member.tsx";
import { check } from "../../schemas/check.ts";
import { changeRoleSchema } from "../../schemas/people.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import {
  askToReauthenticate,
  inOrganization,
  type MemberActor,
  needsReauthentication,
  portalFrame,
  readOrganizationForm,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
} from "../page.ts";

const path = "/portal/members";
const onlyOwner =
  "You are the only owner. Make another member the owner first, or delete the organization on its page.";

/** @returns What somebody may do about a member of their organization, in the order of the buttons. */
export function memberActs(
  viewer: { readonly userId: string; readonly role: Role },
  member: { readonly userId: string; readonly role: Role },
  { owners }: { owners: number },
): MemberAct[] {
  const isOwn = viewer.userId === member.userId;
  const isLastOwner = member.role === "OWNER" && owners === 1;
  const managesOwners = hasPermission(viewer.role, "owners.manage");
  const acts: MemberAct[] = [];
  if (managesOwners && !isLastOwner) acts.push("role");
  if (managesOwners && !isOwn && member.role !== "OWNER") acts.push("owner");
  if (isOwn && !isLastOwner) acts.push("leave");
  if (!isOwn && hasPermission(viewer.role, "members.manage") && (managesOwners || member.role !== "OWNER")) {
    acts.push("remove");
  }
  return acts;
}

/** Mounts the pages about one member; the list is mounted with the invitations. */
export function portalMemberRoutes(app: App, parts: AppParts, assets: Assets): void {
  // Before the pages of others: nobody's id is “leave”.
  mountLeave(app, parts, assets);
  mountRole(app, parts, assets);
  mountRemove(app, parts, assets);
  mountOwner(app, parts, assets);
}

function mountRole(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const page = (session: MemberActor, member: Member) => ({
    frame: portalFrame(parts, assets, session),
    member,
    isYou: member.user.id === session.user.id,
  });

  app.get(
    `${path}/:id/role`,
    inOrganization(parts, async (c, session) => {
      const member = await getMember(services, session, place(c, session));
      requireAct(session, "owners.manage");
      // Whoever had to give the password meanwhile finds what they chose.
      const shown = { value: c.req.query("role") ?? member.role, fieldErrors: {}, error: null };
      return sendPage(c, memberRolePage({ ...page(session, member), ...shown }));
    }),
  );

  app.post(
    `${path}/:id/role`,
    inOrganization(parts, async (c, session) => {
      const form = await readOrganizationForm(c, session);
      const member = await getMember(services, session, place(c, session));
      const value = form["role"] ?? "";
      try {
        const { role } = check(changeRoleSchema, { role: value }, "body");
        await changeMemberRole(services, session, { ...place(c, session), role });
        // Nothing was changed: nothing is said to be.
        if (role === member.role) return redirect(c, path);
        return redirect(c, `${path}?done=role`, { frameChanges: member.user.id === session.user.id });
      } catch (error) {
        if (needsReauthentication(error)) {
          return askToReauthenticate(c, `${path}/${member.user.id}/role?role=${value}`);
        }
        const { message, fields, status } = formError(c, error);
        const shown = { value, fieldErrors: fields, error: message };
        return sendPage(c, memberRolePage({ ...page(session, member), ...shown }), status);
      }
    }),
  );
}

function mountRemove(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;

  app.get(
    `${path}/:id/remove`,
    inOrganization(parts, async (c, session) => {
      const member = await getMember(services, session, place(c, session));
      if (member.user.id === session.user.id) return redirect(c, `${path}/leave`);
      requireAct(session, member.role === "OWNER" ? "owners.manage" : "members.manage");
      const frame = portalFrame(parts, assets, session);
      const shown = { value: "revoke", fieldErrors: {}, error: null };
      return sendPage(c, removeMemberPage({ frame, member, ...shown }));
    }),
  );

  app.post(
    `${path}/:id/remove`,
    inOrganization(parts, async (c, session) => {
      const form = await readOrganizationForm(c, session);
      const member = await getMember(services, session, place(c, session));
      if (member.user.id === session.user.id) return redirect(c, `${path}/leave`);
      const value = form["keys"] ?? "";
      try {
        if (value !== "revoke" && value !== "keep") throw validationError([choose("keys")]);
        await removeMember(services, session, { ...place(c, session), keepKeys: value === "keep" });
        return redirect(c, `${path}?done=removed`);
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const frame = portalFrame(parts, assets, session);
        const shown = { value, fieldErrors: fields, error: message };
        return sendPage(c, removeMemberPage({ frame, member, ...shown }), status);
      }
    }),
  );
}

function mountLeave(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const own = ({ organization, user }: MemberActor) => ({
    organizationId: organization.organizationId,
    userId: user.id,
  });

  app.get(
    `${path}/leave`,
    inOrganization(parts, async (c, session) => {
      const [member, counts] = await Promise.all([
        getMember(services, session, own(session)),
        countMembers(services, session, session.organization.organizationId),
      ]);
      const error = member.role === "OWNER" && counts.OWNER === 1 ? onlyOwner : null;
      return sendPage(
        c,
        leaveOrganizationPage({ frame: portalFrame(parts, assets, session), member, error }),
      );
    }),
  );

  app.post(
    `${path}/leave`,
    inOrganization(parts, async (c, session) => {
      const { organizationId = own(session).organizationId } = await readFormBody(c);
      const left = () => redirect(c, "/portal/organizations?done=left", { frameChanges: true });
      // Pressed twice: by now another organization is the active one, which nobody asked to leave.
      if (!session.memberships.some((one) => one.organizationId === organizationId)) return left();
      const named = { organizationId, userId: session.user.id };
      const member = await getMember(services, session, named);
      try {
        await removeMember(services, session, { ...named, keepKeys: false });
      } catch (error) {
        const { message, status } = formError(c, error);
        const page = { frame: portalFrame(parts, assets, session), member, error: message };
        return sendPage(c, leaveOrganizationPage(page), status);
      }
      return left();
    }),
  );
}

function mountOwner(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;

  app.get(
    `${path}/:id/owner`,
    inOrganization(parts, async (c, session) => {
      const member = await getMember(services, session, place(c, session));
      requireAct(session, "organization.manage");
      if (member.user.id === session.user.id || member.role === "OWNER") return redirect(c, path);
      return reauthenticationIfNeeded(c, parts, session) ??
        sendPage(c, makeOwnerPage({ frame: portalFrame(parts, assets, session), member, error: null }));
    }),
  );

  app.post(
    `${path}/:id/owner`,
    inOrganization(parts, async (c, session) => {
      const member = await getMember(services, session, place(c, session));
      const unproved = reauthenticationIfNeeded(c, parts, session);
      if (unproved !== null) return unproved;
      const { organizationId } = session.organization;
      try {
        await transferOrganization(services, session, { id: organizationId, userId: member.user.id });
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const shown = { member, error: message ?? fields["userId"] ?? "Choose another member." };
        return sendPage(c, makeOwnerPage({ frame: portalFrame(parts, assets, session), ...shown }), status);
      }
      return redirect(c, `${path}?done=owner`, { frameChanges: true });
    }),
  );
}

function place(c: AppContext, { organization }: MemberActor) {
  return { organizationId: organization.organizationId, userId: c.req.param("id") ?? "" };
}

/** @throws {AppError} `forbidden`. */
function requireAct({ organization }: MemberActor, act: Parameters<typeof hasPermission>[1]): void {
  if (!hasPermission(organization.role, act)) throw forbiddenError();
}

function choose(path: string): ErrorDetail {
  return { path, message: "Choose one." };
}
