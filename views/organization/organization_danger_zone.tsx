// The pages that transfer or delete the active organization.
import { nameCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { Member, Organization } from "../../domain/organization.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { NameField, RadioGroup } from "../components/field.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

/** What {@linkcode transferOrganizationPage} shows. */
interface TransferOrganizationPageProps extends Pick<FormErrors, "fields"> {
  readonly frame: PortalFrame;
  /** The other members. */
  readonly members: readonly Member[];
  /** Whether there are more members. */
  readonly hasMore: boolean;
}

const back = { href: "/portal/organization", label: "Organization" };

/** @returns The page that asks which member becomes the owner. */
export function transferOrganizationPage(props: TransferOrganizationPageProps): Page {
  const { frame, members } = props;
  return (
    <PortalPage title="Transfer ownership" frame={frame} place="organization">
      <div class="ask">
        <PageHead
          back={back}
          title="Transfer ownership of “{name}”"
          name={frame.session.organization?.name ?? ""}
          text="Choose the new owner. You confirm the transfer on the next page."
        />
        {members.length > 0 ? <NewOwnerForm {...props} /> : (
          <div class="card">
            <EmptyState title="No one else here yet" text="Invite a member first, and wait until they join.">
              <ButtonLink tone="primary" href="/portal/members">Invite a member</ButtonLink>
            </EmptyState>
          </div>
        )}
      </div>
    </PortalPage>
  );
}

/** @returns The page that asks whether to delete the organization. Its name has to be typed. */
export function deleteOrganizationPage(
  { frame, organization, activeApiKeys, value, fields, message }: FormErrors & {
    frame: PortalFrame;
    organization: Organization;
    activeApiKeys: number;
    /** The name as typed. */
    value: string;
  },
): Page {
  return (
    <ConfirmPage
      frame={frame}
      place="organization"
      title="Delete organization"
      heading="Delete “{name}”?"
      name={organization.name}
      text="This permanently deletes the organization for everyone. Requests with its keys will fail immediately, all members lose access, and all usage records are deleted. The sums of usage are deleted once they are billed, at the latest after 400 days. This can't be undone."
      facts={[
        { label: "Members", value: groupDigits(organization.memberCount) },
        { label: "Active keys", value: groupDigits(activeApiKeys) },
        { label: "Created", value: <DayTime at={organization.createdAt} now={frame.now} /> },
      ]}
      action="/portal/organization/delete"
      submit="Delete organization"
      back={back}
      error={message}
    >
      <NameField
        label="Type the organization's name to confirm"
        value={value}
        error={fields["name"]}
        autocomplete="off"
        charactersMax={nameCharactersMax * 2}
        autofocus
      />
    </ConfirmPage>
  );
}

function NewOwnerForm({ members, hasMore, fields }: TransferOrganizationPageProps) {
  return (
    <Form class="card" action="/portal/organization/hand-over">
      <div class="body">
        <RadioGroup
          label="New owner"
          name="userId"
          value=""
          choices={members.map(({ user, role }) => ({
            value: user.id,
            label: user.name,
            hint: `${user.email} · ${roleWords[role]}`,
          }))}
          hint={hasMore ? "To choose someone else, use “Transfer ownership” on the members page." : undefined}
          error={fields["userId"]}
        />
      </div>
      <footer>
        <SubmitButton>Continue</SubmitButton>
        <ButtonLink href={back.href}>Cancel</ButtonLink>
      </footer>
    </Form>
  );
}
