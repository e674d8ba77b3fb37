// The page of the active organization: its name, its details, and how to leave, transfer or delete it.
import { groupDigits } from "../../domain/number_text.ts";
import type { Organization } from "../../domain/organization.ts";
import { SubmitButton } from "../components/button.tsx";
import { ActionsCard, type PageAction } from "../components/actions_card.tsx";
import { Card } from "../components/card.tsx";
import { Facts } from "../components/facts.tsx";
import { NameField } from "../components/field.tsx";
import { aboutOrganization, type FormErrors, RowForm } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { companySignInLink } from "./company_sign_in.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { asRole, yourRoleSentences } from "../text/role.ts";

interface OrganizationPageProps {
  readonly frame: PortalFrame;
  readonly organization: Organization;
  readonly sso: { readonly isOn: boolean; readonly isRequired: boolean; readonly domains: readonly string[] };
  /** True if the viewer is the only owner, who can't leave. */
  readonly isOnlyOwner: boolean;
  /** `value`: the name as typed. */
  readonly form: FormErrors & { readonly value: string };
  readonly flash: string | null;
}

export function organizationPage(props: OrganizationPageProps): Page {
  const { frame, organization } = props;
  const isOwner = organization.role === "OWNER";
  return (
    <PortalPage title="Organization" frame={frame} place="organization">
      <PageHead
        title="{name}"
        name={organization.name}
        text={`You are ${asRole(organization.role)}. ${yourRoleSentences[organization.role]}`}
      />
      <Notice tone="done" text={props.flash} />
      <Card title="Name">
        {isOwner ? <RenameForm {...props} /> : (
          <NameField
            label="Organization name"
            value={organization.name}
            hint="Only owners can change it."
            autocomplete="off"
            readonly
          />
        )}
      </Card>
      <Card title="Details" flush>
        <Facts
          facts={[
            { label: "Created", value: <DayTime at={organization.createdAt} now={frame.now} /> },
            {
              label: "Members",
              value: <a href="/portal/members">{groupDigits(organization.memberCount)}</a>,
            },
            { label: "Single sign-on", value: <SingleSignOn {...props} /> },
            { label: "ID", value: <code class="pick">{organization.id}</code> },
          ]}
        />
      </Card>
      <DangerZone {...props} />
    </PortalPage>
  );
}

/** Others than owners see whether it is on. */
function SingleSignOn({ organization: { role }, sso: { isOn, isRequired, domains } }: OrganizationPageProps) {
  const state = isRequired ? "Required" : isOn ? "On" : "Off";
  const text = isOn && domains.length > 0 ? `${state} for ${domains.join(", ")}` : state;
  return role === "OWNER" ? <a href={companySignInLink.href}>{isOn ? text : "Set up"}</a> : <>{text}</>;
}

function RenameForm({ frame, form: { value, fields, message } }: OrganizationPageProps) {
  return (
    <RowForm
      action="/portal/organization"
      error={message}
      hidden={aboutOrganization(frame)}
      hasOneField
    >
      <NameField
        label="Organization name"
        value={value}
        hint="Shown to members, in invitations and in the audit log."
        error={fields["name"]}
        autocomplete="organization"
      />
      <SubmitButton>Rename</SubmitButton>
    </RowForm>
  );
}

function DangerZone({ organization: { role, memberCount }, isOnlyOwner }: OrganizationPageProps) {
  const leave: PageAction = {
    title: "Leave",
    text: isOnlyOwner
      ? "You are the only owner. Make another member an owner first, or delete the organization."
      : "You lose access immediately. The keys that you created here are revoked.",
    href: isOnlyOwner ? null : "/portal/members/leave",
    label: "Leave",
    tone: "plain-destroy",
  };
  const ofOwners: readonly PageAction[] = [{
    title: "Transfer ownership",
    text: "Another member becomes an owner, and you become an admin.",
    ...(memberCount > 1
      ? { href: "/portal/organization/transfer", label: "Choose a member" }
      : { href: "/portal/members", label: "Invite a member first" }),
  }, {
    title: "Delete",
    text: "Permanently deletes the organization with all its data. Keys stop working immediately.",
    href: "/portal/organization/delete",
    label: "Delete",
    tone: "plain-destroy",
  }];
  return <ActionsCard title="Danger zone" actions={role === "OWNER" ? [leave, ...ofOwners] : [leave]} />;
}
