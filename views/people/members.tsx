// The page of an organization's members and invitations, for members and for operators.
import { unverifiedInvitationMailsPerHourMax } from "../../domain/limits.ts";
import { unverifiedInvitationMailsToRecipientPerDayMax } from "../../domain/outbox/mail_budget.ts";
import { countOf } from "../../domain/number_text.ts";
import { type Role, roles } from "../../domain/access/session.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { EmailField, NameField, SelectField } from "../components/field.tsx";
import { aboutOrganization, Form, type FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { Unconfirmed } from "../components/unconfirmed.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";
import { type InvitationRow, InvitationTable } from "./invitation_table.tsx";
import { type MemberRow, MemberTable } from "./member_table.tsx";

interface MembersPageProps {
  readonly frame: PortalFrame;
  readonly members: readonly MemberRow[];
  readonly counts: Readonly<Record<Role, number>>;
  readonly nextHref: string | null;
  /** Null for viewers who can't see invitations. */
  readonly inviting: Inviting | null;
  readonly flash: string | null;
  readonly error: string | null;
}

/** The form that invites, with its errors, and the open invitations. */
export interface Inviting extends FormErrors {
  /** Without it, there is no form. */
  readonly canInvite: boolean;
  readonly roles: readonly Role[];
  readonly values: { readonly email: string; readonly name: string; readonly role: string };
  /** True for operators who must authenticate before they fill in the form. */
  readonly needsAuthentication: boolean;
  readonly invitations: readonly InvitationRow[];
  readonly cursor: string | undefined;
  readonly nextHref: string | null;
  readonly flash: string | null;
}

export function membersPage(props: MembersPageProps): Page {
  const { frame, members, counts, inviting, nextHref } = props;
  const countText = roles.filter((role) => counts[role] > 0).reverse()
    .map((role) => countOf(counts[role], roleWords[role].toLowerCase())).join(" · ");
  return (
    <PortalPage title="Members" frame={frame} place="members">
      <PageHead
        title="Members"
        text="Everyone here can see the organization's usage. Role changes take effect immediately."
      />
      <Notice tone="done" text={props.flash} />
      <Notice tone="error" text={props.error} />
      <Card title="Members" aside={<p class="muted small">{countText}</p>} flush>
        {countText === ""
          ? (
            <EmptyState
              title="No members"
              text={frame.isReadOnly ? "" : "Invite the owner, so that someone can sign in."}
            />
          )
          : <MemberTable members={members} frame={frame} />}
      </Card>
      <PageLinks label="Pages: members" links={[{ href: nextHref, label: "More members" }]} />
      {inviting && <InvitingParts {...props} inviting={inviting} />}
    </PortalPage>
  );
}

const unconfirmedText =
  `Until you confirm your email address, you can send at most ${unverifiedInvitationMailsPerHourMax} invitations an hour, ` +
  `and none to an address that has received ${unverifiedInvitationMailsToRecipientPerDayMax} in a day.`;

function InvitingParts({ frame, inviting, counts }: MembersPageProps & { inviting: Inviting }) {
  const { invitations, nextHref, cursor } = inviting;
  const isAlone = counts.OWNER + counts.ADMIN + counts.MEMBER === 1;
  return (
    <>
      {inviting.canInvite && <Invite {...inviting} frame={frame} unconfirmedText={unconfirmedText} />}
      {invitations.length > 0 || cursor !== undefined
        ? (
          <Card title="Invitations" flush>
            <InvitationTable invitations={invitations} frame={frame} cursor={cursor} />
          </Card>
        )
        : isAlone && inviting.canInvite && (
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
          { href: cursor === undefined ? null : `${frame.base}/members`, label: "Newest invitations" },
          { href: nextHref, label: "Older invitations" },
        ]}
      />
    </>
  );
}

function Invite(
  { frame, flash, unconfirmedText, ...inviting }: Inviting & { frame: PortalFrame; unconfirmedText: string },
) {
  return (
    <Card title={<span id="invitations">Invite a member</span>}>
      <Notice tone="done" text={flash} />
      <Unconfirmed frame={frame} text={unconfirmedText} />
      {frame.sendsMail ? <InviteForm {...inviting} flash={flash} frame={frame} /> : (
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

function InviteForm(
  { values, fields, message, roles, needsAuthentication, frame }: Inviting & { frame: PortalFrame },
) {
  const path = `${frame.base}/members`;
  if (needsAuthentication) {
    const href = `/portal/confirm-password?return_to=${encodeURIComponent(path)}`;
    return <ButtonLink href={href}>Confirm it's you to invite</ButtonLink>;
  }
  const email = (
    <EmailField
      label="Email"
      value={values.email}
      placeholder="For example: grace@example.com"
      error={fields["email"]}
      autocomplete="off"
    />
  );
  const roleAndButton = (
    <>
      <SelectField
        label="Role"
        name="role"
        value={values.role}
        choices={roles.map((role) => ({ value: role, label: roleWords[role] }))}
        error={fields["role"]}
      />
      <SubmitButton>Send invitation</SubmitButton>
    </>
  );
  return (
    <Form class="new-key" action={path} error={message} hidden={aboutOrganization(frame)}>
      {frame.viewed === null ? <div class="row">{email}{roleAndButton}</div> : (
        <>
          <div class="row half">
            {email}
            <NameField
              label="Name (optional)"
              value={values.name}
              error={fields["name"]}
              autocomplete="off"
              required={false}
            />
          </div>
          <div class="row one">{roleAndButton}</div>
        </>
      )}
      <p class="muted small">The link in the email works once, for seven days, and only for this address.</p>
    </Form>
  );
}
