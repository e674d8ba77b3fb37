// The page of an organization's people: members, and for those who may invite, the form and the invitations.
import type { Session } from "../../domain/sign_in/session.ts";
import { FormOrganization } from "./form_organization.tsx";
import { emailCharactersMax } from "../../domain/limits.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { type InvitationRow, InvitationTable } from "./invitation_table.tsx";
import { type MemberRow, MemberTable } from "./member_table.tsx";
import { Notice } from "../components/notice.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { countOf } from "../../domain/number_text.ts";
import { roleWords } from "../text/role.ts";

export type { InvitationRow, MemberRow };

/** What the page shows. */
export interface MembersPageProps {
  readonly frame: PortalFrame;
  readonly members: readonly MemberRow[];
  readonly counts: Readonly<Record<Role, number>>;
  /** Where the next page of the list is. */
  readonly nextHref: string | null;
  /** Null for those who may not invite. */
  readonly inviting: Inviting | null;
  /** What was just done, in one sentence. */
  readonly flash: string | null;
  /** What could not be done, if it was not the form. */
  readonly trouble: string | null;
}

/** What those see who may invite. */
export interface Inviting {
  readonly roles: readonly Role[];
  readonly form: {
    readonly values: { readonly email: string; readonly role: string };
    readonly fieldErrors: Readonly<Record<string, string>>;
    readonly error: string | null;
  };
  readonly invitations: readonly InvitationRow[];
  readonly nextHref: string | null;
  /** It is a further page of the list. */
  readonly isContinued: boolean;
}

/** @returns The page of the organization's members. */
export function membersPage(props: MembersPageProps): Page {
  const { frame, inviting, flash, trouble, nextHref } = props;
  return (
    <PortalPage title="Members" frame={frame} place="members">
      <div class="head">
        <h1>Members</h1>
        <p class="muted">
          Everybody here sees the organization’s usage. A change of role, or the end of a membership, holds
          from the very next click.
        </p>
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      {trouble === null ? null : <Notice tone="refused" text={trouble} />}
      <Card title={listTitle(frame)} aside={<Counts counts={props.counts} />} flush>
        <MemberTable members={props.members} now={frame.now} />
      </Card>
      <NextPage href={nextHref} label="More members" />
      {inviting === null ? null : <InvitingParts frame={frame} inviting={inviting} counts={props.counts} />}
    </PortalPage>
  );
}

function InvitingParts(
  { frame, inviting, counts }: { frame: PortalFrame; inviting: Inviting; counts: Counts },
) {
  const isAlone = counts.OWNER + counts.ADMIN + counts.MEMBER === 1;
  return (
    <>
      <Card title="Invite somebody">
        {frame.sendsMail ? <InviteForm {...inviting} session={frame.session} /> : (
          <Notice
            tone="refused"
            text="Invitations go by mail, and mails cannot be sent: no SMTP_URL is set. Ask the people who run this service."
          />
        )}
      </Card>
      <Card title={<span id="invitations">Invitations</span>} flush>
        {inviting.invitations.length === 0
          ? (
            <EmptyState
              title={isAlone ? "You are alone here" : "No invitations"}
              text={isAlone
                ? "Invite somebody above: a colleague joins with one click in a mail."
                : "Whoever you invite is shown here until they join."}
            />
          )
          : <InvitationTable invitations={inviting.invitations} now={frame.now} />}
      </Card>
      <NextPage
        href={inviting.nextHref}
        label="Older invitations"
        back={inviting.isContinued
          ? { href: "/portal/members#invitations", label: "Newest invitations" }
          : null}
      />
    </>
  );
}

function InviteForm(
  { form: { values, fieldErrors, error }, roles, session }: Inviting & { session: Session },
) {
  return (
    <form class="new-key" method="post" action="/portal/members" hx-disable="find button">
      <FormOrganization session={session} />
      {error === null ? null : <Notice tone="refused" text={error} />}
      <div class="row">
        <TextField
          label="E-mail"
          name="email"
          type="email"
          value={values.email}
          placeholder="For example: grace@example.com"
          error={fieldErrors["email"]}
          autocomplete="off"
          required
          maxlength={emailCharactersMax}
        />
        <SelectField
          label="Role"
          name="role"
          value={values.role}
          choices={roles.map((role) => ({ value: role, label: roleWords[role] }))}
          error={fieldErrors["role"]}
        />
        <SubmitButton>Send invitation</SubmitButton>
      </div>
      <p class="muted small">The link in the mail works once, for seven days, and for this address alone.</p>
    </form>
  );
}

function NextPage(
  props: { href: string | null; label: string; back?: { href: string; label: string } | null },
) {
  const { href, label, back = null } = props;
  if (href === null && back === null) return null;
  return (
    <nav class="pages" aria-label={`Pages: ${label}`}>
      {back === null ? null : <ButtonLink href={back.href}>{back.label}</ButtonLink>}
      {href === null ? null : <ButtonLink href={href}>{label}</ButtonLink>}
    </nav>
  );
}

type Counts = MembersPageProps["counts"];

function Counts({ counts }: { counts: Counts }) {
  const parts = [
    countOf(counts.OWNER, "owner"),
    countOf(counts.ADMIN, "admin"),
    countOf(counts.MEMBER, "member"),
  ].filter((_, index) => [counts.OWNER, counts.ADMIN, counts.MEMBER][index] !== 0);
  return <p class="muted small">{parts.join(" · ")}</p>;
}

function listTitle({ session }: PortalFrame): string {
  return session.organization === null ? "Members" : `Members of ${session.organization.name}`;
}
