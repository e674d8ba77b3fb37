// The page of members and invitations with the form that invites, and the pages about one invitation.
import { notFoundError } from "../../../domain/errors.ts";
import { pageItemsDefault } from "../../../domain/limits.ts";
import type { Invitation } from "../../../domain/organization.ts";
import { roles } from "../../../domain/access/session.ts";
import { type Access, hasRecentAuthentication, listAuditEvents, may } from "../../../services/access/mod.ts";
import {
  countMembers,
  createInvitation,
  getInvitation,
  getMember,
  listInvitations,
  listMembers,
  resendInvitation,
  revokeInvitation,
} from "../../../services/people/mod.ts";
import { revokeInvitationPage } from "../../../views/people/invitation_table.tsx";
import { membersBack } from "../../../views/people/member_table.tsx";
import { type Inviting, membersPage } from "../../../views/people/members.tsx";
import { asRole } from "../../../views/text/role.ts";
import type { FormErrors } from "../../../views/components/form.tsx";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { inviteSchema } from "../../schemas/operator_organizations.ts";
import { createInvitationSchema } from "../../schemas/people.ts";
import { flashAbout, type FormState, mountForm, newForm, queryOf, submitForm, type Viewer } from "../form.ts";
import { mountFormPage } from "../noun_pages.ts";
import { home, type PortalParts, redirect, sendPage } from "../page.ts";
import { memberPages, nounPagesOf, organizationForms, organizationPages } from "../viewer.ts";
import { memberActions } from "./members.ts";

const path = "/members";

/** The part of the page with the form and the list of invitations. */
const invitationsPart = "#invitations";

export function invitationPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(organizationPages(app, parts), {
    path,
    show: (c, viewer, state) => showMembers(c, parts, { ...viewer, state: aboutEmail(state) }),
    async submit(c, { access, frame }, { email = "", role = "", name = "" }) {
      const input = access.role === null
        ? check(inviteSchema, { email, role, ...(name.trim() === "" ? {} : { name }) }, "body")
        : check(createInvitationSchema, { email, role }, "body");
      const { invitation } = await createInvitation(services, access, input);
      return redirect(c, doneAddress(frame, { done: "invited", id: invitation.id }));
    },
    reauthenticateFor: (_c, { email = "", role = "" }) =>
      `${home}${path}?${new URLSearchParams({ email, role })}`,
  });

  const members = memberPages(app, parts);
  members.post("/invitations/:invitationId/resend", async (c, viewer) => {
    const cursor = c.req.query("open");
    return await submitForm(c, {
      async submit() {
        const { id } = await resendInvitation(services, viewer.access, idOf(c));
        return redirect(
          c,
          doneAddress(viewer.frame, { ...(cursor && { open: cursor }), done: "resent", id }),
        );
      },
      showAgain: (state) => showMembers(c, parts, { ...viewer, state }),
      reauthenticateFor: home + path,
    });
  });
  // For people who reload the address of the form.
  app.get(`${home}/invitations/:invitationId/resend`, (c) => redirect(c, home + path));

  const pages = nounPagesOf(organizationForms(app, parts), { place: "members", backOf: membersBack });
  mountFormPage(pages, {
    path: "/invitations/:invitationId/revoke",
    async show(c, form, { access }) {
      const invitation = await getInvitation(services, access, idOf(c));
      if (!canRevoke(access, invitation)) throw notFoundError();
      return revokeInvitationPage(form, invitation);
    },
    async submit(c, { access, frame }) {
      await revokeInvitation(services, access, idOf(c));
      return doneAddress(frame, { done: "revoked", id: idOf(c) });
    },
  });
}

/** Returns the address of the page after an action on an invitation. */
function doneAddress({ base }: Viewer["frame"], query: Record<string, string>): string {
  return `${base}${path}?${new URLSearchParams(query)}${invitationsPart}`;
}

async function showMembers(
  c: AppContext,
  parts: PortalParts,
  { access, frame, state: { input, ...state } }: Viewer & { state: FormState },
): Promise<Response> {
  const { services } = parts;
  const cursor = queryOf(c, "cursor");
  const [{ members, nextCursor }, counts, inviting] = await Promise.all([
    listMembers(services, access, { limit: pageItemsDefault, cursor }),
    countMembers(services, access),
    may(access, "memberDetails.read") ? invitingOf(c, parts, { access, frame }) : null,
  ]);
  const address = frame.base + path;
  const page = membersPage({
    frame,
    members: members.map((member) => ({ ...member, actions: memberActions(access, member, counts.OWNER) })),
    counts,
    nextHref: nextCursor && `${address}?cursor=${encodeURIComponent(nextCursor)}`,
    inviting: inviting && {
      ...inviting,
      // Without input, the error is about another form.
      ...(input === undefined ? newForm : state),
      values: { ...inviting.values, ...input },
    },
    flash: await flashAboutMember(c, services, access),
    error: input === undefined ? state.message : null,
  });
  return sendPage(c, page, state.status);
}

async function invitingOf(
  c: AppContext,
  { services }: PortalParts,
  { access, frame }: Viewer,
): Promise<Omit<Inviting, keyof FormErrors>> {
  const cursor = queryOf(c, "open");
  const { invitations, nextCursor } = await listInvitations(services, access, {
    limit: pageItemsDefault,
    cursor,
    isOpen: true,
  });
  const address = frame.base + path;
  return {
    canInvite: may(access, "members.manage"),
    roles: roles.filter((role) => role !== "OWNER" || may(access, "owners.manage")),
    // The input is in the address after a member's password had to be entered.
    values: {
      email: queryOf(c, "email") ?? "",
      name: "",
      role: queryOf(c, "role") ?? (access.role === null ? "OWNER" : "MEMBER"),
    },
    needsAuthentication: access.role === null && !hasRecentAuthentication(frame.session, frame.now),
    invitations: invitations.map((invitation) => ({
      ...invitation,
      canChange: canRevoke(access, invitation),
    })),
    cursor,
    nextHref: nextCursor && `${address}?open=${nextCursor}${invitationsPart}`,
    flash: await flashAboutInvitation(c, services, access),
  };
}

function flashAboutInvitation(c: AppContext, services: PortalParts["services"], access: Access) {
  const emailOf = async (id: string) => (await getInvitation(services, access, id)).email;
  return flashAbout(c, {
    invited: async (id) => `Invitation sent to ${await emailOf(id)}.`,
    resent: async (id) => `Sent again to ${await emailOf(id)}. Earlier links no longer work.`,
    revoked: async (id) => `Revoked the invitation for ${await emailOf(id)}. Its link no longer works.`,
  });
}

/** Returns the message about a member's last action on a member or the organization. */
async function flashAboutMember(c: AppContext, services: PortalParts["services"], access: Access) {
  if (access.role === null) return null;
  const { actor, organizationName: name } = access;
  return await flashAbout(c, {
    role: async (userId) => {
      const { user, role } = await getMember(services, access, userId);
      return user.id === actor.user.id
        ? `You are now ${asRole(role)}.`
        : `${user.name} is now ${asRole(role)}.`;
    },
    removed: async (id) => {
      const removals = { actions: ["member.removed"], limit: pageItemsDefault, cursor: undefined } as const;
      const { events } = await listAuditEvents(services, access, removals);
      const removed = events.find(({ target }) => target?.id === id)?.target?.name;
      return removed ? `${removed} has been removed from ${name}.` : null;
    },
    created: () => `${name} has been created. Invite your first member.`,
    joined: () => `Welcome to ${name}.`,
  });
}

function canRevoke(access: Access, { role, status }: Invitation): boolean {
  return (status === "pending" || status === "expired") &&
    may(access, role === "OWNER" ? "owners.manage" : "members.manage");
}

/** Some errors are about the email address alone. */
function aboutEmail(state: FormState): FormState {
  const { code, message } = state;
  const isAbout = code === "already_member" || code === "already_invited";
  return isAbout && message !== null ? { ...state, message: null, fields: { email: message } } : state;
}

function idOf(c: AppContext): string {
  return c.req.param("invitationId") ?? "";
}
