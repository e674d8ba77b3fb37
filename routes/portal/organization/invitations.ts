// The page of members and invitations, and the pages about one invitation.
import { notFoundError } from "../../../domain/errors.ts";
import { pageItemsDefault } from "../../../domain/limits.ts";
import type { Invitation } from "../../../domain/organization.ts";
import { hasPermission } from "../../../domain/permissions.ts";
import { type Role, roles } from "../../../domain/sign_in/session.ts";
import { activeAccess } from "../../../services/access.ts";
import { listAuditEvents } from "../../../services/audit.ts";
import {
  createInvitation,
  getInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from "../../../services/organization/invitations.ts";
import { countMembers, getMember, listMembers } from "../../../services/organization/members.ts";
import {
  invitationActions,
  inviterName,
  revokeInvitationPage,
} from "../../../views/organization/invitation_table.tsx";
import { membersPage } from "../../../views/organization/members.tsx";
import { asRole } from "../../../views/text/role.ts";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { createInvitationSchema } from "../../schemas/people.ts";
import { flashAbout, type FormState, mountForm, newForm, queryOf, submitForm } from "../form.ts";
import {
  type MemberActor,
  memberRoutes,
  portalFrame,
  type PortalParts,
  redirect,
  sendPage,
} from "../page.ts";
import { memberActions } from "./members.ts";

const path = "/portal/members";

/** Where the page has the form and the list of invitations. */
const invitationsPart = "#invitations";

/** Mounts `/portal/members` and `/portal/invitations/…`. */
export function portalInvitationRoutes(app: App, parts: PortalParts): void {
  const { get, post } = memberRoutes(app, parts);
  const { services } = parts;
  const show = showMembers(parts);
  mountForm(memberRoutes(app, parts), {
    path,
    show: (c, session, state) => show(c, session, aboutEmail(state)),
    async submit(c, session, { email = "", role = "" }) {
      const { organizationId } = session.organization;
      const input = check(createInvitationSchema, { email, role }, "body");
      const { id } = await createInvitation(services, session, { organizationId, ...input });
      return redirect(c, doneAddress("invited", id));
    },
    reauthenticateFor: (_c, { email = "", role = "" }) => `${path}?${new URLSearchParams({ email, role })}`,
  });

  post("/portal/invitations/:id/resend", async (c, session) => {
    const cursor = c.req.query("open");
    return await submitForm(c, {
      async submit() {
        const { id } = await resendInvitation(services, session, keyOf(c, session));
        return redirect(c, doneAddress("resent", id, cursor));
      },
      showAgain: (state) => show(c, session, state),
      reauthenticateFor: path,
    });
  });
  // For people who reload the address of the form.
  app.get("/portal/invitations/:id/resend", (c) => redirect(c, path));

  get("/portal/invitations/:id/revoke", async (c, session) => {
    const invitation = await getInvitation(services, session, keyOf(c, session));
    if (!canRevoke(session.organization.role, invitation)) throw notFoundError();
    return sendPage(c, revokeInvitationPage({ frame: portalFrame(parts, session), invitation }));
  });
  post("/portal/invitations/:id/revoke", async (c, session) => {
    const key = keyOf(c, session);
    await revokeInvitation(services, session, key);
    return redirect(c, doneAddress("revoked", key.id));
  });
}

/** @returns The page after an action on an invitation. @param cursor Of the page of the list that it was on. */
function doneAddress(done: string, id: string, cursor?: string): string {
  return `${path}?${new URLSearchParams({ ...(cursor && { open: cursor }), done, id })}${invitationsPart}`;
}

function showMembers(parts: PortalParts) {
  const { services } = parts;
  return async (c: AppContext, session: MemberActor, { input, ...state }: FormState): Promise<Response> => {
    const { organizationId, role } = session.organization;
    const cursor = queryOf(c, "cursor");
    const [{ members, nextCursor }, counts, invitations] = await Promise.all([
      listMembers(services, session, { organizationId, limit: pageItemsDefault, cursor }),
      countMembers(services, session, organizationId),
      hasPermission(role, "members.manage") ? invitationPage(c, parts, session) : null,
    ]);
    const viewer = { userId: session.user.id, role };
    // Without input, the error is about another form.
    const form = input === undefined ? newForm : state;
    const page = membersPage({
      frame: portalFrame(parts, session),
      members: members.map((member) => ({
        ...member,
        isYou: member.user.id === session.user.id,
        actions: memberActions(viewer, { userId: member.user.id, role: member.role }, {
          owners: counts.OWNER,
        }),
      })),
      counts,
      nextHref: nextCursor === null ? null : `${path}?cursor=${encodeURIComponent(nextCursor)}`,
      inviting: invitations && {
        ...invitations,
        roles: roles.filter((one) => one !== "OWNER" || hasPermission(role, "owners.manage")),
        // The input is in the address after the password had to be entered.
        form: {
          ...form,
          values: {
            email: input?.["email"] ?? queryOf(c, "email") ?? "",
            role: input === undefined ? queryOf(c, "role") ?? "MEMBER" : input["role"] ?? "",
          },
        },
      },
      flash: await flashAboutMember(c, services, session),
      error: input === undefined ? state.message : null,
    });
    return sendPage(c, page, state.status);
  };
}

/** A page of the open invitations. */
async function invitationPage(c: AppContext, { services }: PortalParts, session: MemberActor) {
  const { organization: { organizationId, role }, user } = session;
  const cursor = queryOf(c, "open");
  const { invitations, nextCursor } = await listInvitations(services, session, {
    organizationId,
    limit: pageItemsDefault,
    cursor,
    isOpen: true,
  });
  const options = {
    canResend: services.mail.mode !== "none",
    query: cursor === undefined ? "" : `?open=${cursor}`,
  };
  return {
    invitations: invitations.map((invitation) => ({
      ...invitation,
      inviter: invitation.invitedBy?.id === user.id ? "you" : inviterName(invitation),
      actions: canRevoke(role, invitation) ? invitationActions(invitation.id, options) : [],
    })),
    nextHref: nextCursor && `${path}?open=${nextCursor}${invitationsPart}`,
    isContinued: cursor !== undefined,
    flash: await flashAboutInvitation(c, services, session),
  };
}

function flashAboutInvitation(c: AppContext, services: PortalParts["services"], session: MemberActor) {
  const { organizationId } = session.organization;
  const emailOf = async (id: string) =>
    (await getInvitation(services, session, { organizationId, id })).email;
  return flashAbout(c, {
    invited: async (id) => `Invitation sent to ${await emailOf(id)}.`,
    resent: async (id) => `Sent again to ${await emailOf(id)}. Earlier links no longer work.`,
    revoked: async (id) => `Revoked the invitation for ${await emailOf(id)}. Its link no longer works.`,
  });
}

/** @returns What was just done with a member or the organization. */
function flashAboutMember(c: AppContext, services: PortalParts["services"], session: MemberActor) {
  const { organizationId, name } = session.organization;
  return flashAbout(c, {
    role: async (userId) => {
      const { user, role } = await getMember(services, session, { organizationId, userId });
      return user.id === session.user.id
        ? `You are now ${asRole(role)}.`
        : `${user.name} is now ${asRole(role)}.`;
    },
    removed: async (id) => {
      const removals = { actions: ["member.removed"], limit: pageItemsDefault, cursor: undefined } as const;
      const { events } = await listAuditEvents(services, activeAccess(session), removals);
      const removed = events.find(({ target }) => target?.id === id)?.target?.name;
      return removed ? `${removed} has been removed from ${name}.` : null;
    },
    created: () => `${name} has been created. Invite your first member.`,
    joined: () => `Welcome to ${name}.`,
  });
}

function canRevoke(role: Role, invitation: Invitation): boolean {
  return (invitation.status === "pending" || invitation.status === "expired") &&
    (invitation.role !== "OWNER" || hasPermission(role, "owners.manage"));
}

/** Some errors are about the email address alone. */
function aboutEmail(state: FormState): FormState {
  const { code, message } = state;
  const isAbout = code === "already_member" || code === "already_invited";
  return isAbout && message !== null ? { ...state, message: null, fields: { email: message } } : state;
}

function keyOf(c: AppContext, { organization }: MemberActor) {
  return { organizationId: organization.organizationId, id: c.req.param("id") ?? "" };
}
