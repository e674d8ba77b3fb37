// The pages about one member: change their role, remove them, or leave. They only show what the
// verbs allow; the verbs decide.
import { forbiddenError, validationError } from "../../../domain/errors.ts";
import { hasPermission, type Permission } from "../../../domain/permissions.ts";
import type { Role } from "../../../domain/sign_in/session.ts";
import {
  changeMemberRole,
  countMembers,
  getMember,
  removeMember,
} from "../../../services/organization/members.ts";
import {
  leaveOrganizationPage,
  memberRolePage,
  removeMemberPage,
} from "../../../views/organization/member.tsx";
import type { MemberAction } from "../../../views/organization/member_table.tsx";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { changeRoleSchema } from "../../schemas/people.ts";
import { type FormState, mountForm, newForm, submitForm } from "../form.ts";
import {
  type MemberActor,
  memberRoutes,
  portalFrame,
  type PortalParts,
  redirect,
  sendPage,
} from "../page.ts";

const path = "/portal/members";

/** @returns What the viewer can do with a member, in the order of the buttons. */
export function memberActions(
  viewer: { readonly userId: string; readonly role: Role },
  member: { readonly userId: string; readonly role: Role },
  { owners }: { owners: number },
): MemberAction[] {
  const isOwn = viewer.userId === member.userId;
  const isLastOwner = member.role === "OWNER" && owners === 1;
  const managesOwners = hasPermission(viewer.role, "owners.manage");
  const actions: MemberAction[] = [];
  if (managesOwners && !isLastOwner) actions.push("role");
  if (isOwn && !isLastOwner) actions.push("leave");
  if (!isOwn && hasPermission(viewer.role, removalPermission(member.role))) actions.push("remove");
  return actions;
}

/** Mounts the pages about one member. The list is mounted with the invitations. */
export function portalMemberRoutes(app: App, parts: PortalParts): void {
  // “leave” must match before `:id`.
  leaveRoutes(app, parts);
  roleRoutes(app, parts);
  removeRoutes(app, parts);
}

function roleRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/:id/role`,
    async show(c, session, { input, ...state }) {
      const [member, { OWNER: owners }] = await Promise.all([
        getMember(services, session, keyOf(c, session)),
        countMembers(services, session, session.organization.organizationId),
      ]);
      requirePermission(session, "owners.manage");
      const frame = portalFrame(parts, session);
      const isYou = member.user.id === session.user.id;
      // The choice is in the address after the password had to be entered.
      const value = input?.["role"] ?? c.req.query("role") ?? member.role;
      return await sendPage(
        c,
        memberRolePage({ frame, member, owners, isYou, value, ...state }),
        state.status,
      );
    },
    async submit(c, session, input) {
      const key = keyOf(c, session);
      const { user, role: formerRole } = await getMember(services, session, key);
      const { role } = check(changeRoleSchema, { role: input["role"] ?? "" }, "body");
      await changeMemberRole(services, session, { ...key, role });
      if (role === formerRole) return redirect(c, path);
      return redirect(c, `${path}?done=role&id=${user.id}`, { frameChanges: user.id === session.user.id });
    },
    reauthenticateFor: (c, { role }) => `${path}/${c.req.param("id")}/role?role=${role}`,
  });
}

function removeRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/:id/remove`,
    async show(c, session, { input, ...state }) {
      const member = await getMember(services, session, keyOf(c, session));
      if (member.user.id === session.user.id) return redirect(c, `${path}/leave`);
      requirePermission(session, removalPermission(member.role));
      const frame = portalFrame(parts, session);
      const value = input === undefined ? "revoke" : input["keys"] ?? "";
      return await sendPage(c, removeMemberPage({ frame, member, value, ...state }), state.status);
    },
    async submit(c, session, { keys }) {
      const key = keyOf(c, session);
      const { user } = await getMember(services, session, key);
      if (user.id === session.user.id) return redirect(c, `${path}/leave`);
      if (keys !== "revoke" && keys !== "keep") {
        throw validationError([{ path: "keys", message: "Choose what should happen to the keys." }]);
      }
      await removeMember(services, session, { ...key, keepKeys: keys === "keep" });
      return redirect(c, `${path}?done=removed&id=${user.id}`);
    },
  });
}

function leaveRoutes(app: App, parts: PortalParts): void {
  const { get, post } = memberRoutes(app, parts);
  const { services } = parts;

  async function show(
    c: AppContext,
    session: MemberActor,
    { organizationId, ...state }: FormState & { organizationId: string },
  ) {
    const [member, counts] = await Promise.all([
      getMember(services, session, { organizationId, userId: session.user.id }),
      countMembers(services, session, organizationId),
    ]);
    const message = state.message ??
      (member.role === "OWNER" && counts.OWNER === 1
        ? "You are the only owner. Make another member an owner first, or delete the organization."
        : null);
    const frame = portalFrame(parts, session);
    return await sendPage(c, leaveOrganizationPage({ frame, member, message }), state.status);
  }

  get(`${path}/leave`, (c, session) => show(c, session, { ...newForm, ...session.organization }));
  post(`${path}/leave`, async (c, session) => {
    const { organizationId = session.organization.organizationId } = await readFormBody(c);
    const left = () => redirect(c, "/portal/organizations?done=left", { frameChanges: true });
    // The form was sent twice: another organization is active now, and must not be left.
    if (!session.memberships.some((one) => one.organizationId === organizationId)) return left();
    const key = { organizationId, userId: session.user.id };
    return await submitForm(c, {
      async submit() {
        await removeMember(services, session, { ...key, keepKeys: false });
        return left();
      },
      showAgain: (state) => show(c, session, { ...state, organizationId }),
    });
  });
}

function keyOf(c: AppContext, { organization }: MemberActor) {
  return { organizationId: organization.organizationId, userId: c.req.param("id") ?? "" };
}

function removalPermission(role: Role): Permission {
  return role === "OWNER" ? "owners.manage" : "members.manage";
}

/** @throws {AppError} `forbidden`. */
function requirePermission({ organization }: MemberActor, permission: Permission): void {
  if (!hasPermission(organization.role, permission)) throw forbiddenError();
}
