// The page that gives a member another role.
import { type Role, roles } from "../../domain/sign_in/session.ts";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { aboutOrganization } from "./form_organization.tsx";
import { RadioGroup } from "../components/field.tsx";
import { memberFacts, memberHref, membersBack, type MemberView } from "./member_table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleSentences, roleWords } from "../text/role.ts";

/** What the page shows. */
export interface MemberRolePageProps {
  readonly frame: PortalFrame;
  readonly member: MemberView;
  readonly isYou: boolean;
  /** The role that is chosen, at first the member's. */
  readonly value: Role | string;
  readonly fieldErrors: Readonly<Record<string, string>>;
  readonly error: string | null;
}

/** @returns The page that asks for a member's role. */
export function memberRolePage(props: MemberRolePageProps): Page {
  const { frame, member, isYou, value, fieldErrors, error } = props;
  return (
    <PortalPage title="Change a role" frame={frame} place="members">
      <ConfirmPanel
        title={isYou ? "Change your own role" : (
          <>
            Change the role of <bdi>{member.user.name}</bdi>
          </>
        )}
        text={isYou
          ? "It holds from your next click on. Only another owner can give it back to you."
          : "It holds from their next click on. Their keys stay as they are."}
        facts={memberFacts(member, frame.now)}
        action={memberHref(member.user.id, "role")}
        about={aboutOrganization(frame.session)}
        submit="Change role"
        tone="primary"
        back={membersBack}
        error={error}
      >
        <RadioGroup
          label="Role"
          name="role"
          value={value}
          choices={roles.map((role) => ({ value: role, label: roleWords[role], hint: roleSentences[role] }))}
          error={fieldErrors["role"]}
        />
      </ConfirmPanel>
    </PortalPage>
  );
}
