// The page of a person's organizations: switch to one, or create one. People without an organization land here.
import type { Organization } from "../../domain/organization.ts";
import { Badge } from "../components/badge.tsx";
import { SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { NameField } from "../components/field.tsx";
import { Form, type FormErrors, RowForm } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Name, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { groupDigits } from "../../domain/number_text.ts";
import { roleWords } from "../text/role.ts";

interface OrganizationsPageProps {
  readonly frame: PortalFrame;
  readonly organizations: readonly Organization[];
  /** `value`: the name as typed. */
  readonly form: FormErrors & { readonly value: string };
  readonly flash: string | null;
}

const columns = ["Name", "Your role", "Members", "Created", "Status", actionsColumn];

export function organizationsPage({ frame, organizations, form, flash }: OrganizationsPageProps): Page {
  return (
    <PortalPage title="Organizations" frame={frame} place="organizations">
      <PageHead
        title="Organizations"
        text="Keys, usage and members belong to an organization. The portal shows the active one."
      />
      <Notice tone="done" text={flash} />
      <Card title="Your organizations" flush>
        {organizations.length === 0
          ? (
            <EmptyState
              title="No organizations yet"
              text={`Create one below, or ask for an invitation to ${frame.session.user.email}.`}
            />
          )
          : <OrganizationTable organizations={organizations} frame={frame} />}
      </Card>
      <Card title={<span id="new">New organization</span>}>
        <NewOrganizationForm {...form} />
      </Card>
    </PortalPage>
  );
}

function OrganizationTable(
  { organizations, frame }: Pick<OrganizationsPageProps, "organizations" | "frame">,
) {
  const active = frame.session.organization?.organizationId;
  return (
    <Table label="Organizations" columns={columns}>
      {organizations.map((organization) => (
        <Row>
          <Cell place="title" value={<Name text={organization.name} />} />
          <Cell label="Your role" value={<span>{roleWords[organization.role]}</span>} />
          <Cell label="Members">
            <span class="tabular">{groupDigits(organization.memberCount)}</span>
          </Cell>
          <Cell label="Created" value={<DayTime at={organization.createdAt} now={frame.now} />} />
          <Cell place="state">{organization.id === active ? <Badge tone="on">Active</Badge> : null}</Cell>
          <Cell place="actions">
            {organization.id !== active && (
              <Form class="actions-row" action="/portal/switch" hidden={{ organizationId: organization.id }}>
                <SubmitButton tone="quiet">
                  Switch<span class="unseen">{` to “${organization.name}”`}</span>
                </SubmitButton>
              </Form>
            )}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function NewOrganizationForm({ value, fields, message }: OrganizationsPageProps["form"]) {
  return (
    <RowForm
      action="/portal/organizations"
      error={message}
      note="You become its owner, and it becomes your active organization."
      hasOneField
    >
      <NameField
        label="Name"
        value={value}
        placeholder="For example: Northwind Maps"
        error={fields["name"]}
        autocomplete="organization"
      />
      <SubmitButton>Create organization</SubmitButton>
    </RowForm>
  );
}
