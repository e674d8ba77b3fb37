// The pages about one member: change their role, transfer ownership to them, remove them, or leave.
import { countOf } from "../../domain/number_text.ts";
import type { Member } from "../../domain/organization.ts";
import { roles } from "../../domain/sign_in/session.ts";
import { ButtonLink } from "../components/button.tsx";
import { ConfirmPanel, type ConfirmPanelProps } from "../components/confirm_panel.tsx";
import { HiddenFields, RadioGroup } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { DayTime } from "../components/relative_time.tsx";
import type { FormErrors } from "../components/row_form.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleSentences, roleWords } from "../text/role.ts";
import { aboutOrganization } from "./about_organization.ts";
import { type MemberAction, memberHref, membersBack } from "./member_table.tsx";

/** The member that a page is about. */
export interface MemberPageProps {
  readonly frame: PortalFrame;
  readonly member: Member;
  readonly error: string | null;
}

/** A page with a choice. */
export interface MemberFormProps extends MemberPageProps, FormErrors {
  readonly value: string;
}

/** @returns The page that changes a member's role. `isYou`: the member is the viewer. */
export function memberRolePage(props: MemberFormProps & { readonly isYou: boolean }): Page {
  const { member, isYou, value, fieldErrors } = props;
  return memberPage(props, {
    heading: "Change role",
    action: "role",
    title: isYou ? "Change your own role" : (
      <>
        Change the role of <bdi>{member.user.name}</bdi>
      </>
    ),
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
        choices={roles.map((role) => ({ value: role, label: roleWords[role], hint: roleSentences[role] }))}
        error={fieldErrors["role"]}
      />
    ),
  });
}

/** @returns The page that asks whether to transfer the organization to a member. */
export function transferToMemberPage(props: MemberPageProps): Page {
  return memberPage(props, {
    heading: "Transfer ownership",
    action: "owner",
    title: (
      <>
        Transfer ownership to <bdi>{props.member.user.name}</bdi>?
      </>
    ),
    text: "They become an owner and can do everything. You become an admin. Only an owner can undo this.",
    submit: "Transfer ownership",
  });
}

/** @returns The page that asks whether to remove a member, and what should happen to their keys. */
export function removeMemberPage(props: MemberFormProps): Page {
  const { member: { user, activeApiKeys } } = props;
  return memberPage(props, {
    heading: "Remove member",
    action: "remove",
    title: (
      <>
        Remove <bdi>{user.name}</bdi>?
      </>
    ),
    text: "They lose access immediately, and their open invitations are revoked. They keep their account.",
    submit: "Remove member",
    children: activeApiKeys === 0
      ? (
        <>
          <HiddenFields values={{ keys: "revoke" }} />
          <p class="small muted">They have no active keys in this organization.</p>
        </>
      )
      : <KeysChoice {...props} />,
  });
}

/** @returns The page that asks whether to leave, or, with an `error`, says why the viewer can't. */
export function leaveOrganizationPage(props: MemberPageProps): Page {
  const { frame, member: { activeApiKeys }, error } = props;
  const title = (
    <>
      Leave “<bdi>{frame.session.organization?.name ?? ""}</bdi>”?
    </>
  );
  const keys = activeApiKeys === 0 ? "" : ` Your ${countOf(activeApiKeys, "active key")} will be revoked.`;
  if (error === null) {
    return memberPage(props, {
      heading: "Leave organization",
      action: "leave",
      title,
      text: `You lose access immediately.${keys} To rejoin, you need an invitation.`,
      submit: "Leave organization",
    });
  }
  return (
    <PortalPage title="Leave organization" frame={frame} place="members">
      <div class="ask">
        <div class="head">
          <h1>{title}</h1>
        </div>
        <Notice tone="refused" text={error} />
        <div class="buttons">
          <ButtonLink href="/portal/members">Members</ButtonLink>
          <ButtonLink href="/portal/organization">Organization settings</ButtonLink>
        </div>
      </div>
    </PortalPage>
  );
}

function memberPage(
  { frame, member, error }: MemberPageProps,
  { heading, action, ...panel }:
    & { heading: string; action: MemberAction }
    & Pick<ConfirmPanelProps, "title" | "text" | "submit" | "children">
    & Partial<Pick<ConfirmPanelProps, "tone">>,
): Page {
  const facts = [
    { label: "Email", value: member.user.email },
    { label: "Role", value: roleWords[member.role] },
    { label: "Joined", value: <DayTime at={member.joinedAt} now={frame.now} /> },
  ];
  return (
    <PortalPage title={heading} frame={frame} place="members">
      <ConfirmPanel
        facts={facts}
        action={memberHref(member.user.id, action)}
        about={aboutOrganization(frame.session)}
        tone="destroy"
        back={membersBack}
        error={error}
        {...panel}
      />
    </PortalPage>
  );
}

function KeysChoice({ member: { activeApiKeys }, value, fieldErrors }: MemberFormProps) {
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
      error={fieldErrors["keys"]}
    />
  );
}
