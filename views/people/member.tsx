// The pages about one member: change their role, transfer ownership to them, remove them, or leave.
import { countOf } from "../../domain/number_text.ts";
import type { Member } from "../../domain/organization.ts";
import { roles } from "../../domain/access/session.ts";
import { ButtonLink } from "../components/button.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { RadioGroup } from "../components/field.tsx";
import { aboutOrganization, HiddenFields } from "../components/form.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleSentences, roleWords } from "../text/role.ts";
import { memberHref, membersBack } from "./member_table.tsx";

/** @param props `owners`: their number. `value`: the chosen role. */
export function memberRolePage(
  { field, ...form }: PageForm,
  { member, owners, value }: { readonly member: Member; readonly owners: number; readonly value: string },
): Page {
  const isYou = member.user.id === form.frame.session.user.id;
  const more = member.role === "OWNER" ? "" : ` There will be ${owners + 1} owners, with equal rights.`;
  return (
    <ConfirmPage
      {...form}
      {...aboutMember(form, member)}
      title="Change role"
      heading={isYou ? "Change your own role" : "Change the role of {name}"}
      text={isYou
        ? "Your new role takes effect immediately. Only another owner can change it back."
        : "Their new role takes effect immediately. Their keys don't change."}
      submit="Change role"
      tone="primary"
    >
      <RadioGroup
        label="Role"
        {...field("role")}
        value={value}
        choices={roles.map((role) => ({
          value: role,
          label: roleWords[role],
          hint: `${roleSentences[role]}${role === "OWNER" ? more : ""}`,
        }))}
      />
    </ConfirmPage>
  );
}

export function removeMemberPage(form: PageForm, member: Member): Page {
  return (
    <ConfirmPage
      {...form}
      {...aboutMember(form, member)}
      title="Remove member"
      heading="Remove {name}?"
      text="They lose access immediately, and their open invitations are revoked. They keep their account."
      submit="Remove member"
    >
      {member.activeApiKeys > 0 ? <KeysChoice form={form} member={member} /> : (
        <>
          <HiddenFields values={{ keys: "revoke" }} />
          <p class="small muted">They have no active keys in this organization.</p>
        </>
      )}
    </ConfirmPage>
  );
}

/** Asks for confirmation, or, with a `message`, says why the viewer can't leave. */
export function leaveOrganizationPage(
  { frame, member, message }: { frame: PortalFrame; member: Member; message: string | null },
): Page {
  const { activeApiKeys, user: { id } } = member;
  const heading = "Leave “{name}”?";
  const name = frame.session.organization?.name ?? "";
  const keys = activeApiKeys === 0 ? "" : ` Your ${countOf(activeApiKeys, "active key")} will be revoked.`;
  if (message === null) {
    return (
      <ConfirmPage
        {...aboutMember({ frame }, member)}
        frame={frame}
        place="members"
        title="Leave organization"
        heading={heading}
        name={name}
        text={`You lose access immediately.${keys} To rejoin, you need an invitation.`}
        action={memberHref(id, "leave")}
        hidden={aboutOrganization(frame)}
        back={membersBack(frame)}
        submit="Leave organization"
      />
    );
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

function aboutMember({ frame: { now } }: Pick<PageForm, "frame">, { user, role, joinedAt }: Member) {
  return {
    name: user.name,
    facts: [
      { label: "Email", value: user.email },
      { label: "Role", value: roleWords[role] },
      { label: "Joined", value: <DayTime at={joinedAt} now={now} /> },
    ],
  };
}

function KeysChoice({ form: { input, field }, member }: { form: PageForm; member: Member }) {
  return (
    <RadioGroup
      label={`What should happen to their ${countOf(member.activeApiKeys, "active key")}?`}
      {...field("keys", input === undefined ? "revoke" : "")}
      choices={[
        { value: "revoke", label: "Revoke", hint: "Requests with these keys will fail immediately." },
        {
          value: "keep",
          label: "Transfer to me",
          hint: "The keys keep working. Anyone who knows them can still use them.",
        },
      ]}
    />
  );
}
