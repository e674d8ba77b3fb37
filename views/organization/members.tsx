// The page of an organization's members and invitations.
import { countOf } from "../../domain/number_text.ts";
import { type Role, roles } from "../../domain/sign_in/session.ts";
import { SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { EmailField, SelectField } from "../components/field.tsx";
import { aboutOrganization, type FormErrors, RowForm } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";
import { type InvitationRow, InvitationTable } from "./invitation_table.tsx";
import { type MemberRow, MemberTable } from "./member_table.tsx";

/** What the page shows. */
export interface MembersPageProps {
  readonly frame: PortalFrame;
  readonly members: readonly MemberRow[];
  readonly counts: Readonly<Record<Role, number>>;
  /** The address of the list's next page. */
  readonly nextHref: string | null;
  /** Null for viewers who can't invite. */
  readonly inviting: Inviting | null;
  /** What was just done. */
  readonly flash: string | null;
  /** What failed outside the form. */
  readonly error: string | null;
}

/** What viewers see who can invite. */
interface Inviting {
  /** The roles that the viewer can give. */
  readonly roles: readonly Role[];
  readonly form: FormErrors & { readonly values: { readonly email: string; readonly role: string } };
  readonly invitations: readonly InvitationRow[];
  readonly nextHref: string | null;
  /** Whether this is not the list's first page. */
  readonly isContinued: boolean;
  /** What was just done with an invitation. */
  readonly flash: string | null;
}

/** @returns The page of the organization's members. */
export function membersPage(props: MembersPageProps): Page {
  const { frame, counts, inviting, nextHref } = props;
  const countText = roles.filter((role) => counts[role] > 0).reverse()
    .map((role) => countOf(counts[role], roleWords[role].toLowerCase())).join(" · ");
  return (
    <PortalPage title="Members" frame={frame} place="members">
      <PageHead
        title="Members"
        text="Everyone here can see the organization's usage. Role changes take effect immediately."
      />
      <Notice tone="done" text={props.flash} />
      <Notice tone="refused" text={props.error} />
      <Card title="Members" aside={<p class="muted small">{countText}</p>} flush>
        <MemberTable members={props.members} now={frame.now} />
      </Card>
      <PageLinks label="Pages: members" links={[{ href: nextHref, label: "More members" }]} />
      {inviting && <InvitingParts {...props} inviting={inviting} />}
    </PortalPage>
  );
}

function InvitingParts({ frame, inviting, counts }: MembersPageProps & { inviting: Inviting }) {
  const { invitations, nextHref, isContinued } = inviting;
  const isAlone = counts.OWNER + counts.ADMIN + counts.MEMBER === 1;
  return (
    <>
      <Card title={<span id="invitations">Invite a member</span>}>
        <Notice tone="done" text={inviting.flash} />
        {frame.sendsMail ? <InviteForm {...inviting} frame={frame} /> : (
          <Notice
            tone="refused"
            text="Invitations are sent by email, but SMTP_URL is not set. Ask the operator of this service."
          />
        )}
      </Card>
      {invitations.length > 0 || isContinued
        ? (
          <Card title="Invitations" flush>
            <InvitationTable invitations={invitations} now={frame.now} />
          </Card>
        )
        : isAlone && (
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
          { href: isContinued ? "/portal/members" : null, label: "Newest invitations" },
          { href: nextHref, label: "Older invitations" },
        ]}
      />
    </>
  );
}

function InviteForm({ form, roles, frame }: Inviting & { frame: PortalFrame }) {
  const { values, fields, message } = form;
  return (
    <RowForm
      action="/portal/members"
      error={message}
      hidden={aboutOrganization(frame)}
      note="The link in the email works once, for seven days, and only for this address."
    >
      <EmailField
        label="Email"
        value={values.email}
        placeholder="For example: grace@example.com"
        error={fields["email"]}
        autocomplete="off"
      />
      <SelectField
        label="Role"
        name="role"
        value={values.role}
        choices={roles.map((role) => ({ value: role, label: roleWords[role] }))}
        error={fields["role"]}
      />
      <SubmitButton>Send invitation</SubmitButton>
    </RowForm>
  );
}
