// The page of all organizations of a person: switch to one, or make a new one. People without any land here.
import { nameCharactersMax } from "../../domain/limits.ts";
import { Badge } from "../components/badge.tsx";
import { SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import type { OrganizationView } from "./organization.tsx";
import { groupDigits } from "../../domain/number_text.ts";
import { roleWords } from "../text/role.ts";

/** What the page shows. */
export interface OrganizationsPageProps {
  readonly frame: PortalFrame;
  readonly organizations: readonly OrganizationView[];
  readonly form: {
    readonly values: { readonly name: string };
    readonly fieldErrors: Readonly<Record<string, string>>;
    readonly error: string | null;
  };
  readonly flash: string | null;
}

const columns: readonly Column[] = [
  { title: "Name" },
  { title: "Your role" },
  { title: "Members" },
  { title: "Created" },
  { title: "State" },
  { title: "Actions", isUnseen: true },
];

/** @returns The page of a person's organizations. */
export function organizationsPage({ frame, organizations, form, flash }: OrganizationsPageProps): Page {
  return (
    <PortalPage title="Organizations" frame={frame} place="organizations">
      <div class="head">
        <h1>Organizations</h1>
        <p class="muted">
          Keys, usage and members belong to an organization. What you see in the portal is that of the active
          one.
        </p>
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      <Card title="Your organizations" flush>
        {organizations.length === 0
          ? (
            <EmptyState
              title="You belong to no organization"
              text={`Create one below. Or wait for an invitation to ${frame.session.user.email}: the link in it brings you in.`}
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
          <Cell place="title">
            <div class="name">
              <bdi>{organization.name}</bdi>
            </div>
          </Cell>
          <Cell label="Your role">
            <span>{roleWords[organization.role]}</span>
          </Cell>
          <Cell label="Members">
            <span class="tabular">{groupDigits(organization.memberCount)}</span>
          </Cell>
          <Cell label="Created">
            <DayTime at={organization.createdAt} now={frame.now} />
          </Cell>
          <Cell place="state">{organization.id === active ? <Badge tone="on">Active</Badge> : null}</Cell>
          <Cell place="actions">
            {organization.id === active
              ? null
              : (
                <form class="actions-row" method="post" action="/portal/switch">
                  <input type="hidden" name="organizationId" value={organization.id} />
                  <SubmitButton tone="quiet">
                    Switch<span class="unseen">{` to “${organization.name}”`}</span>
                  </SubmitButton>
                </form>
              )}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function NewOrganizationForm({ values, fieldErrors, error }: OrganizationsPageProps["form"]) {
  return (
    <form class="new-key" method="post" action="/portal/organizations" hx-disable="find button">
      {error === null ? null : <Notice tone="refused" text={error} />}
      <div class="row one">
        <TextField
          label="Name"
          name="name"
          value={values.name}
          placeholder="For example: Northwind Maps"
          error={fieldErrors["name"]}
          autocomplete="organization"
          required
          maxlength={nameCharactersMax}
        />
        <SubmitButton>Create organization</SubmitButton>
      </div>
      <p class="muted small">You become its owner, and switch to it at once.</p>
    </form>
  );
}
