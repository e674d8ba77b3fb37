// The page of an organization's members and invitations, with the form that invites, for members and operators.
import { roles } from "../../domain/access/session.ts";
import { pageItemsDefault, unverifiedInvitationMailsPerHourMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import { unverifiedInvitationMailsToRecipientPerDayMax } from "../../domain/outbox/mail_budget.ts";
import { type Access, hasRecentAuthentication, listAuditEvents, may } from "../../services/access/mod.ts";
import {
  countMembers,
  createInvitation,
  getInvitation,
  getMember,
  listInvitations,
  listMembers,
  resendInvitation,
} from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { EmptyState } from "../../views/components/empty_state.tsx";
import { EmailField, NameField, SelectField } from "../../views/components/field.tsx";
import { Form } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { Unconfirmed } from "../../views/components/unconfirmed.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { asRole, roleWords } from "../../views/text/role.ts";
import type { App, AppContext } from "../env.ts";
import { flashAbout, newForm, queryOf, submitForm, type Viewer } from "../portal/form.ts";
import { mountFormPage, paramOf, shownForm } from "../portal/noun_pages.ts";
import { home, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { memberPages, nounPagesOf, organizationPages } from "../portal/viewer.ts";
import { check } from "../schemas/check.ts";
import { inviteSchema } from "./schemas/people.ts";
import { createInvitationSchema, doneHref, InvitationTable } from "./invitations.tsx";
import { membersBack, membersHref, MemberTable } from "./members.tsx";

const path = "/members";

export function membersPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const lists = nounPagesOf(organizationPages(app, parts), { place: "members", backOf: membersBack });
  mountFormPage(lists, {
    path,
    show: (c, form, viewer) => membersPage(c, parts, { ...viewer, form, error: null }),
    async submit(_c, viewer, { email = "", role = "", name = "" }) {
      const { access } = viewer;
      const input = access.role === null
        ? check(inviteSchema, { email, role, ...(name.trim() === "" ? {} : { name }) }, "body")
        : check(createInvitationSchema, { email, role }, "body");
      const { invitation } = await createInvitation(services, access, input);
      return doneHref(viewer, { done: "invited", id: invitation.id });
    },
    reauthenticateFor: (_c, { email = "", role = "" }) =>
      `${membersHref}?${new URLSearchParams({ email, role })}`,
    fieldOf: { already_member: "email", already_invited: "email" },
  });

  memberPages(app, parts).post("/invitations/:invitationId/resend", async (c, viewer) => {
    const cursor = c.req.query("open");
    return await submitForm(c, {
      async submit() {
        const { id } = await resendInvitation(services, viewer.access, paramOf(c, "invitationId"));
        return redirect(c, doneHref(viewer, { ...(cursor && { open: cursor }), done: "resent", id }));
      },
      async showAgain({ message: error, status }) {
        const form = shownForm(lists, viewer, { ...newForm, action: membersHref });
        return await sendPage(c, await membersPage(c, parts, { ...viewer, form, error }), status);
      },
      reauthenticateFor: membersHref,
    });
  });
  // For people who reload the address of the form.
  app.get(`${home}/invitations/:invitationId/resend`, (c) => redirect(c, membersHref));
}

/** @param shown `form`: invites. `error`: of another form. */
async function membersPage(
  c: AppContext,
  { services }: PortalParts,
  { access, frame, form, error }: Viewer & { form: PageForm; error: string | null },
) {
  const canSee = may(access, "memberDetails.read");
  const open = canSee ? queryOf(c, "open") : undefined;
  const limit = pageItemsDefault;
  const [{ members, nextCursor }, counts, { invitations, nextCursor: nextOpen }] = await Promise.all([
    listMembers(services, access, { limit, cursor: queryOf(c, "cursor") }),
    countMembers(services, access),
    canSee ? listInvitations(services, access, { limit, cursor: open, isOpen: true }) : noInvitations,
  ]);
  const address = frame.base + path;
  const canInvite = canSee && may(access, "members.manage");
  const invite = await inviteOf(c, services, { access, frame });
  const countText = roles.filter((role) => counts[role] > 0).reverse()
    .map((role) => countOf(counts[role], roleWords[role].toLowerCase())).join(" · ");
  const isAlone = counts.OWNER + counts.ADMIN + counts.MEMBER === 1;
  const nextHref = nextCursor && `${address}?cursor=${encodeURIComponent(nextCursor)}`;
  return (
    <PortalPage title="Members" frame={frame} place="members">
      <PageHead
        title="Members"
        text="Everyone here can see the organization's usage. Role changes take effect immediately."
      />
      <Notice tone="done" text={await flashAboutMember(c, services, access)} />
      <Notice tone="error" text={error} />
      <Card title="Members" aside={<p class="muted small">{countText}</p>} flush>
        {countText === ""
          ? (
            <EmptyState
              title="No members"
              text={frame.isReadOnly ? "" : "Invite the owner, so that someone can sign in."}
            />
          )
          : <MemberTable members={members} access={access} owners={counts.OWNER} frame={frame} />}
      </Card>
      <PageLinks label="Pages: members" links={[{ href: nextHref, label: "More members" }]} />
      {canInvite && <InviteCard form={form} {...invite} />}
      {invitations.length > 0 || open !== undefined
        ? (
          <Card title="Invitations" flush>
            <InvitationTable invitations={invitations} access={access} frame={frame} cursor={open} />
          </Card>
        )
        : isAlone && canInvite && (
          <Card title="Invitations" flush>
            <EmptyState
              title="No one else here yet"
              text="Invite a colleague above. They join with the link in the email."
            />
          </Card>
        )}
      <PageLinks
        label="Pages: invitations"
        links={[
          { href: open === undefined ? null : address, label: "Newest invitations" },
          { href: nextOpen && `${address}?open=${nextOpen}#invitations`, label: "Older invitations" },
        ]}
      />
    </PortalPage>
  );
}

const noInvitations = { invitations: [], nextCursor: null };

/** Reads the form that invites. */
async function inviteOf(c: AppContext, services: PortalParts["services"], { access, frame }: Viewer) {
  return {
    roles: roles.filter((role) => role !== "OWNER" || may(access, "owners.manage")),
    /** True for operators who must authenticate before they fill in the form. */
    needsAuthentication: access.role === null && !hasRecentAuthentication(frame.session, frame.now),
    // The input is in the address after a member's password had to be entered.
    email: queryOf(c, "email") ?? "",
    role: queryOf(c, "role") ?? (access.role === null ? "OWNER" : "MEMBER"),
    flash: await flashAboutInvitation(c, services, access),
  };
}

type InviteProps = Awaited<ReturnType<typeof inviteOf>> & { readonly form: PageForm };

const unconfirmedText =
  `Until you confirm your email address, you can send at most ${unverifiedInvitationMailsPerHourMax} invitations an hour, ` +
  `and none to an address that has received ${unverifiedInvitationMailsToRecipientPerDayMax} in a day.`;

function InviteCard(props: InviteProps) {
  const { form: { frame }, flash } = props;
  return (
    <Card title={<span id="invitations">Invite a member</span>}>
      <Notice tone="done" text={flash} />
      <Unconfirmed frame={frame} text={unconfirmedText} />
      {frame.sendsMail ? <InviteForm {...props} /> : (
        <Notice
          tone="error"
          text={`Invitations are sent by email, but SMTP_URL is not set.${
            frame.viewed === null ? " Ask the operator of this service." : ""
          }`}
        />
      )}
    </Card>
  );
}

function InviteForm({ form, roles, needsAuthentication, email: firstEmail, role: firstRole }: InviteProps) {
  const { frame, action, hidden, error, field } = form;
  if (needsAuthentication) {
    const href = `/portal/confirm-password?return_to=${encodeURIComponent(action)}`;
    return <ButtonLink href={href}>Confirm it's you to invite</ButtonLink>;
  }
  const email = (
    <EmailField label="Email" {...field("email", firstEmail)} placeholder="For example: grace@example.com" />
  );
  const roleAndButton = (
    <>
      <SelectField
        label="Role"
        {...field("role", firstRole)}
        choices={roles.map((role) => ({ value: role, label: roleWords[role] }))}
      />
      <SubmitButton>Send invitation</SubmitButton>
    </>
  );
  return (
    <Form class="new-key" action={action} error={error} hidden={hidden}>
      {frame.viewed === null ? <div class="row">{email}{roleAndButton}</div> : (
        <>
          <div class="row half">
            {email}
            <NameField label="Name (optional)" {...field("name")} required={false} />
          </div>
          <div class="row one">{roleAndButton}</div>
        </>
      )}
      <p class="muted small">The link in the email works once, for seven days, and only for this address.</p>
    </Form>
  );
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
