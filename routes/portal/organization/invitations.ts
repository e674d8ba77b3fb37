// The page of members and invitations, and the pages about one invitation.
import { notFoundError } from "../../../domain/errors.ts";
import { pageItemsDefault, pageItemsMax } from "../../../domain/limits.ts";
import type { Invitation } from "../../../domain/organization.ts";
import { hasPermission } from "../../../domain/permissions.ts";
import { type Role, roles } from "../../../domain/sign_in/session.ts";
import {
  createInvitation,
  getInvitation,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from "../../../services/organization/invitations.ts";
import { countMembers, listMembers } from "../../../services/organization/members.ts";
import { revokeInvitationPage } from "../../../views/organization/invitation_table.tsx";
import { membersPage } from "../../../views/organization/members.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { createInvitationSchema } from "../../schemas/people.ts";
import { flashOf, type FormState, mountForm, newForm, queryOf, submitForm } from "../form.ts";
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

/** @returns What the page says after an action, by `?done=`. */
const flashes = (organization: string) => ({
  invited: "Invitation sent.",
  resent: "Invitation sent again. Its earlier links no longer work.",
  revoked: "Invitation revoked. Its link no longer works.",
  role: "Role changed.",
  removed: "Member removed.",
  owner: "Ownership transferred. You are an admin now.",
  created: `${organization} has been created. Invite your first member.`,
  joined: `Welcome to ${organization}.`,
});

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
      await createInvitation(services, session, { organizationId, ...input });
      return redirect(c, `${path}?done=invited`);
    },
    reauthenticateFor: (_c, { email = "", role = "" }) => `${path}?${new URLSearchParams({ email, role })}`,
  });

  post("/portal/invitations/:id/resend", async (c, session) =>
    await submitForm(c, {
      async submit() {
        await resendInvitation(services, session, keyOf(c, session));
        return redirect(c, `${path}?done=resent`);
      },
      showAgain: (state) => show(c, session, state),
      reauthenticateFor: path,
    }));
  // For people who reload the address of the form.
  app.get("/portal/invitations/:id/resend", (c) => redirect(c, path));

  get("/portal/invitations/:id/revoke", async (c, session) => {
    const invitation = await getInvitation(services, session, keyOf(c, session));
    if (!canRevoke(session.organization.role, invitation)) throw notFoundError();
    return sendPage(c, revokeInvitationPage({ frame: portalFrame(parts, session), invitation }));
  });
  post("/portal/invitations/:id/revoke", async (c, session) => {
    await revokeInvitation(services, session, keyOf(c, session));
    return redirect(c, `${path}?done=revoked`);
  });
}

function showMembers(parts: PortalParts) {
  const { services } = parts;
  return async (c: AppContext, session: MemberActor, { input, ...state }: FormState): Promise<Response> => {
    const { organizationId, role, name } = session.organization;
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
      flash: flashOf(c, flashes(name)),
      error: input === undefined ? state.message : null,
    });
    return sendPage(c, page, state.status);
  };
}

/** A page of the open invitations; on the last of these pages, the other invitations begin. */
async function invitationPage(c: AppContext, { services }: PortalParts, session: MemberActor) {
  const { organization: { organizationId, role }, user } = session;
  const none = { invitations: [], nextCursor: null };
  const openCursor = queryOf(c, "open");
  const closedCursor = queryOf(c, "ended");
  const read = (page: { limit: number; cursor: string | undefined; isOpen: boolean }) =>
    listInvitations(services, session, { organizationId, ...page });
  const open = closedCursor === undefined
    ? await read({ limit: pageItemsMax, cursor: openCursor, isOpen: true })
    : none;
  const closed = open.nextCursor === null
    ? await read({ limit: pageItemsDefault, cursor: closedCursor, isOpen: false })
    : none;
  const next = open.nextCursor !== null
    ? `open=${encodeURIComponent(open.nextCursor)}`
    : closed.nextCursor !== null
    ? `ended=${encodeURIComponent(closed.nextCursor)}`
    : null;
  return {
    invitations: [...open.invitations, ...closed.invitations].map((invitation) => {
      const mayRevoke = canRevoke(role, invitation);
      return {
        ...invitation,
        invitedByYou: invitation.invitedBy?.id === user.id,
        canRevoke: mayRevoke,
        canResend: mayRevoke && services.mail.mode !== "none",
      };
    }),
    nextHref: next && `${path}?${next}#invitations`,
    isContinued: openCursor !== undefined || closedCursor !== undefined,
  };
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
