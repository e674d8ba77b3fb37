// The page of the active organization: its name, its details, and how to leave, transfer or delete it.
import type { Child } from "hono/jsx";
import { nameCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { Organization } from "../../domain/organization.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type FormErrors, RowForm } from "../components/row_form.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { asRole, yourRoleSentences } from "../text/role.ts";
import { aboutOrganization } from "./about_organization.ts";

/** What the page shows. */
export interface OrganizationPageProps {
  readonly frame: PortalFrame;
  readonly organization: Organization;
  /** Whether the viewer is the only owner, who cannot leave. */
  readonly isOnlyOwner: boolean;
  /** `value`: the name as typed. */
  readonly form: FormErrors & { readonly value: string };
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The page of the active organization. */
export function organizationPage(props: OrganizationPageProps): Page {
  const { frame, organization } = props;
  const isOwner = organization.role === "OWNER";
  return (
    <PortalPage title="Organization" frame={frame} place="organization">
      <div class="head">
        <h1>
          <bdi>{organization.name}</bdi>
        </h1>
        <p class="muted">
          {`You are ${asRole(organization.role)}. ${yourRoleSentences[organization.role]}`}
        </p>
      </div>
      <Notice tone="done" text={props.flash} />
      <Card title="Name">
        {isOwner ? <RenameForm {...props} /> : (
          <TextField
            label="Organization name"
            name="name"
            value={organization.name}
            hint="Only owners can change it."
            autocomplete="off"
            maxlength={nameCharactersMax}
            readonly
          />
        )}
      </Card>
      <Card title="Details" flush>
        <Details organization={organization} now={frame.now} />
      </Card>
      <Card title="Danger zone" flush>
        <DangerZone {...props} />
      </Card>
      {isOwner
        ? (
          <p class="muted small">
            Setting up a proxy? <a href="/portal/check">See what your browser sends</a>.
          </p>
        )
        : null}
    </PortalPage>
  );
}

function RenameForm({ frame, form: { value, fieldErrors, error } }: OrganizationPageProps) {
  return (
    <RowForm
      action="/portal/organization"
      error={error}
      about={aboutOrganization(frame.session)}
      hasOneField
    >
      <TextField
        label="Organization name"
        name="name"
        value={value}
        hint="Shown to members, in invitations and in the audit log."
        error={fieldErrors["name"]}
        autocomplete="organization"
        required
        maxlength={nameCharactersMax}
      />
      <SubmitButton>Rename</SubmitButton>
    </RowForm>
  );
}

function Details({ organization, now }: { organization: Organization; now: number }) {
  const { id, memberCount, createdAt } = organization;
  return (
    <dl class="facts">
      <div>
        <dt>Created</dt>
        <dd>
          <DayTime at={createdAt} now={now} />
        </dd>
      </div>
      <div>
        <dt>Members</dt>
        <dd>
          <a href="/portal/members">{groupDigits(memberCount)}</a>
        </dd>
      </div>
      <div>
        <dt>ID</dt>
        <dd>
          <code class="pick">{id}</code>
        </dd>
      </div>
    </dl>
  );
}

function DangerZone({ organization: { role, memberCount }, isOnlyOwner }: OrganizationPageProps) {
  const leaveText = isOnlyOwner
    ? "You are the only owner. Make another member an owner first, or delete the organization."
    : "You lose access immediately. The keys that you created here are revoked.";
  return (
    <ul class="acts">
      <Action title="Leave" text={leaveText}>
        {isOnlyOwner
          ? null
          : <ButtonLink tone="plain-destroy" href="/portal/members/leave">Leave</ButtonLink>}
      </Action>
      {role !== "OWNER" ? null : (
        <>
          <Action title="Transfer ownership" text="Another member becomes an owner, and you become an admin.">
            {memberCount > 1
              ? <ButtonLink href="/portal/organization/hand-over">Choose a member</ButtonLink>
              : <ButtonLink href="/portal/members">Invite a member first</ButtonLink>}
          </Action>
          <Action
            title="Delete"
            text="Permanently deletes the organization with all its data. Keys stop working immediately."
          >
            <ButtonLink tone="plain-destroy" href="/portal/organization/delete">Delete</ButtonLink>
          </Action>
        </>
      )}
    </ul>
  );
}

function Action({ title, text, children }: { title: string; text: string; children: Child }) {
  return (
    <li>
      <div>
        <h3>{title}</h3>
        <p class="muted small">{text}</p>
      </div>
      {children}
    </li>
  );
}
