// The pages about one member: change their role, transfer ownership to them, remove them, or leave.
import { countOf } from "../../domain/number_text.ts";
import type { Member } from "../../domain/organization.ts";
import { roles } from "../../domain/sign_in/session.ts";
import { ButtonLink } from "../components/button.tsx";
import { ConfirmPage, type ConfirmPageProps } from "../components/confirm_page.tsx";
import { RadioGroup } from "../components/field.tsx";
import { aboutOrganization, type FormErrors, HiddenFields } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleSentences, roleWords } from "../text/role.ts";
import { type MemberAction, memberHref, membersBack } from "./member_table.tsx";

interface MemberPageProps {
  readonly frame: PortalFrame;
  readonly member: Member;
  readonly message: string | null;
}

type MemberFormProps = MemberPageProps & FormErrors & { readonly value: string };

/** @param props `owners`: the number of owners. */
export function memberRolePage(props: MemberFormProps & { readonly owners: number }): Page {
  const { frame, value, fields, member, owners } = props;
  const isYou = member.user.id === frame.session.user.id;
  const more = member.role === "OWNER" ? "" : ` There will be ${owners + 1} owners, with equal rights.`;
  return memberPage(props, {
    title: "Change role",
    action: "role",
    heading: isYou ? "Change your own role" : "Change the role of {name}",
    text: isYou
      ? "Your new role takes effect immediately. Only another owner can change it back."
      : "Their new role takes effect immediately. Their keys stay as they are.",
    submit: "Change role",
    tone: "primary",
    children: (
      <RadioGroup
        label="Role"
        name="role"
        value={value}
        choices={roles.map((role) => ({
          value: role,
          label: roleWords[role],
          hint: `${roleSentences[role]}${role === "OWNER" ? more : ""}`,
        }))}
        error={fields["role"]}
      />
    ),
  });
}

export function removeMemberPage(props: MemberFormProps): Page {
  return memberPage(props, {
    title: "Remove member",
    action: "remove",
    heading: "Remove {name}?",
    text: "They lose access immediately, and their open invitations are revoked. They keep their account.",
    submit: "Remove member",
    children: props.member.activeApiKeys === 0
      ? (
        <>
          <HiddenFields values={{ keys: "revoke" }} />
          <p class="small muted">They have no active keys in this organization.</p>
        </>
      )
      : <KeysChoice {...props} />,
  });
}

/** Asks for confirmation, or, with a `message`, says why the viewer can't leave. */
export function leaveOrganizationPage(props: MemberPageProps): Page {
  const { frame, member: { activeApiKeys }, message } = props;
  const heading = "Leave “{name}”?";
  const name = frame.session.organization?.name ?? "";
  const keys = activeApiKeys === 0 ? "" : ` Your ${countOf(activeApiKeys, "active key")} will be revoked.`;
  if (message === null) {
    return memberPage(props, {
      title: "Leave organization",
      action: "leave",
      heading,
      name,
      text: `You lose access immediately.${keys} To rejoin, you need an invitation.`,
      submit: "Leave organization",
    });
  }
  return (
    <PortalPage title="Leave organization" frame={frame} place="members">
      <div class="ask">
        <PageHead title={heading} name={name} />
        <Notice tone="error" text={message} />
        <div class="buttons">
          <ButtonLink href="/portal/members">Members</ButtonLink>
          <ButtonLink href="/portal/organization">Organization settings</ButtonLink>
        </div>
      </div>
    </PortalPage>
  );
}

function memberPage(
  { frame, member, message }: MemberPageProps,
  { action, ...page }:
    & Pick<ConfirmPageProps, "title" | "heading" | "name" | "text" | "submit" | "tone" | "children">
    & { action: MemberAction },
): Page {
  const facts = [
    { label: "Email", value: member.user.email },
    { label: "Role", value: roleWords[member.role] },
    { label: "Joined", value: <DayTime at={member.joinedAt} now={frame.now} /> },
  ];
  return (
    <ConfirmPage
      frame={frame}
      place="members"
      name={member.user.name}
      facts={facts}
      action={memberHref(member.user.id, action)}
      hidden={aboutOrganization(frame)}
      back={membersBack(frame)}
      error={message}
      {...page}
    />
  );
}

function KeysChoice({ member: { activeApiKeys }, value, fields }: MemberFormProps) {
  const keys = countOf(activeApiKeys, "active key");
  return (
    <RadioGroup
      label={`What should happen to their ${keys}?`}
      name="keys"
      value={value}
      choices={[
        { value: "revoke", label: "Revoke", hint: "Requests with these keys will fail immediately." },
        {
          value: "keep",
          label: "Transfer to me",
          hint: "The keys keep working. Anyone who knows them can still use them.",
        },
      ]}
      error={fields["keys"]}
    />
  );
}
