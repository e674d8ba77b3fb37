// The pages that transfer or delete the active organization.
import { nameCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import type { Member, Organization } from "../../domain/organization.ts";
import { ButtonLink } from "../components/button.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { NameField, RadioGroup } from "../components/field.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

export function transferOrganizationPage(
  { field, ...form }: PageForm,
  { members, nextHref }: { members: readonly Member[]; nextHref: string | null },
): Page {
  const { frame, place, back } = form;
  const title = "Transfer ownership";
  const heading = "Transfer ownership of “{name}”";
  const name = frame.session.organization?.name ?? "";
  if (members.length === 0 && nextHref === null) {
    return (
      <PortalPage title={title} frame={frame} place={place}>
        <div class="ask">
          <PageHead back={back} title={heading} name={name} />
          <div class="card">
            <EmptyState title="No one else here yet" text="Invite a member first, and wait until they join.">
              <ButtonLink tone="primary" href="/portal/members">Invite a member</ButtonLink>
            </EmptyState>
          </div>
        </div>
      </PortalPage>
    );
  }
  return (
    <ConfirmPage
      {...form}
      title={title}
      heading={heading}
      name={name}
      text="The new owner can do everything. You become an admin, and only an owner can undo this."
      facts={[{ label: "Your role", value: "Owner → Admin" }]}
      submit="Transfer ownership"
      after={<PageLinks links={[{ href: nextHref, label: "More members" }]} />}
    >
      <RadioGroup
        label="New owner"
        {...field("userId")}
        choices={members.map(({ user, role }) => ({
          value: user.id,
          label: user.name,
          hint: `${user.email} · ${roleWords[role]}`,
        }))}
      />
    </ConfirmPage>
  );
}

export function deleteOrganizationPage(
  { field, ...form }: PageForm,
  { organization, activeApiKeys }: { organization: Organization; activeApiKeys: number },
): Page {
  return (
    <ConfirmPage
      {...form}
      title="Delete organization"
      heading="Delete “{name}”?"
      name={organization.name}
      text="This permanently deletes the organization for everyone. Requests with its keys will fail immediately, all members lose access, and all usage records are deleted. The sums of usage are deleted once they are billed, at the latest after 400 days. This can't be undone."
      facts={[
        { label: "Members", value: groupDigits(organization.memberCount) },
        { label: "Active keys", value: groupDigits(activeApiKeys) },
        { label: "Created", value: <DayTime at={organization.createdAt} now={form.frame.now} /> },
      ]}
      submit="Delete organization"
    >
      <NameField
        label="Type the organization's name to confirm"
        {...field("name")}
        charactersMax={nameCharactersMax * 2}
        autofocus
      />
    </ConfirmPage>
  );
}
