// The pages about one member: change their role, remove them, or leave. They only show what the verbs allow; the verbs decide.
import { validationError } from "../../../domain/errors.ts";
import type { Member } from "../../../domain/organization.ts";
import type { Permission } from "../../../domain/access/permissions.ts";
import type { Role } from "../../../domain/access/session.ts";
import {
  type Access,
  accessTo,
  may,
  type MemberAccess,
  requirePermission,
} from "../../../services/access/mod.ts";
import { changeMemberRole, countMembers, getMember, removeMember } from "../../../services/people/mod.ts";
import { leaveOrganizationPage, memberRolePage, removeMemberPage } from "../../../views/people/member.tsx";
import { type MemberAction, membersBack } from "../../../views/people/member_table.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { changeRoleSchema } from "../../schemas/people.ts";
import { type FormState, newForm, submitForm } from "../form.ts";
import { mountFormPage, type Pages } from "../noun_pages.ts";
import { home, type PortalParts, redirect, sendPage } from "../page.ts";
import { memberPages, type MemberViewer, nounPagesOf } from "../viewer.ts";

const path = "/members";
const membersHref = home + path;

/** Returns the viewer's actions for a member, in the order of the buttons. @param owners The number of owners. */
export function memberActions(access: Access, { user, role }: Member, owners: number): MemberAction[] {
  // Operators have no pages about one member.
  if (access.role === null) return [];
  const isOwn = access.actor.user.id === user.id;
  const isLastOwner = role === "OWNER" && owners === 1;
  const actions: MemberAction[] = [];
  if (may(access, "owners.manage") && !isLastOwner) actions.push("role");
  if (isOwn && !isLastOwner) actions.push("leave");
  if (!isOwn && may(access, removalPermission(role))) actions.push("remove");
  return actions;
}

/** Mounts the pages about one member. The list is mounted with the invitations. */
export function memberChangePages(app: App, parts: PortalParts): void {
  // “leave” must match before `:userId`.
  leavePages(app, parts);
  const pages = nounPagesOf(memberPages(app, parts), { place: "members", backOf: membersBack });
  rolePages(pages, parts);
  removalPages(pages, parts);
}

function rolePages(pages: Pages<MemberViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/:userId/role`,
    async show(c, form, { access }) {
      const [member, { OWNER: owners }] = await Promise.all([
        getMember(services, access, userIdOf(c)),
        countMembers(services, access),
      ]);
      requirePermission(access, "owners.manage");
      // The choice is in the address after the password had to be entered.
      const value = form.input?.["role"] ?? c.req.query("role") ?? member.role;
      return memberRolePage(form, { member, owners, value });
    },
    async submit(c, { access }, input) {
      const { user, role: formerRole } = await getMember(services, access, userIdOf(c));
      const { role } = check(changeRoleSchema, { role: input["role"] ?? "" }, "body");
      await changeMemberRole(services, access, { userId: user.id, role });
      if (role === formerRole) return membersHref;
      return redirect(c, `${membersHref}?done=role&id=${user.id}`, { frameChanges: isOwn(access, user) });
    },
    reauthenticateFor: (c, { role }) => `${membersHref}/${userIdOf(c)}/role?role=${role}`,
  });
}

function removalPages(pages: Pages<MemberViewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/:userId/remove`,
    async show(c, form, { access }) {
      const member = await getMember(services, access, userIdOf(c));
      if (isOwn(access, member.user)) return redirect(c, `${membersHref}/leave`);
      requirePermission(access, removalPermission(member.role));
      return removeMemberPage(form, member);
    },
    async submit(c, { access }, { keys }) {
      const { user } = await getMember(services, access, userIdOf(c));
      if (isOwn(access, user)) return `${membersHref}/leave`;
      if (keys !== "revoke" && keys !== "keep") {
        throw validationError([{ path: "keys", message: "Choose what should happen to the keys." }]);
      }
      await removeMember(services, access, { userId: user.id, keepKeys: keys === "keep" });
      return `${membersHref}?done=removed&id=${user.id}`;
    },
  });
}

function leavePages(app: App, parts: PortalParts): void {
  const { get, post } = memberPages(app, parts);
  const { services } = parts;

  async function show(c: AppContext, { access, frame }: MemberViewer, state: FormState) {
    const [member, counts] = await Promise.all([
      getMember(services, access, access.actor.user.id),
      countMembers(services, access),
    ]);
    const message = state.message ??
      (member.role === "OWNER" && counts.OWNER === 1
        ? "You are the only owner. Make another member an owner first, or delete the organization."
        : null);
    return await sendPage(c, leaveOrganizationPage({ frame, member, message }), state.status);
  }

  get(`${path}/leave`, (c, viewer) => show(c, viewer, newForm));
  post(`${path}/leave`, async (c, { access: active, frame }) => {
    const { actor } = active;
    const { organizationId = active.organizationId } = await readFormBody(c);
    const left = () => redirect(c, "/portal/organizations?done=left", { frameChanges: true });
    // The form was sent twice: another organization is active now, and must not be left.
    if (!actor.memberships.some((one) => one.organizationId === organizationId)) return left();
    const access = accessTo(actor, organizationId);
    return await submitForm(c, {
      async submit() {
        await removeMember(services, access, { userId: actor.user.id, keepKeys: false });
        return left();
      },
      showAgain: (state) => show(c, { access, frame }, state),
    });
  });
}

function userIdOf(c: AppContext): string {
  return c.req.param("userId") ?? "";
}

function isOwn({ actor }: MemberAccess, { id }: Member["user"]): boolean {
  return actor.user.id === id;
}

function removalPermission(role: Role): Permission {
  return role === "OWNER" ? "owners.manage" : "members.manage";
}
