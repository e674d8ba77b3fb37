// The console's list of organizations, and the form that creates one.
import { externalIdCharactersMax } from "../../domain/limits.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type {
  OperatedOrganization,
  OrganizationSort,
  OrganizationStatus,
} from "../../domain/operator/organization.ts";
import type { Plan } from "../../domain/operator/plan.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { EmailField, NameField, SelectField, TextField } from "../components/field.tsx";
import { Form, type FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, LinkedName, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { organizationHref, organizationsHref as list } from "./links.ts";
import { ListFilters, listHref } from "./list_filters.tsx";

const place = "operator/organizations";
const newHref = `${list}/new`;

/** The choices in the address of the list. Empty: all. */
export interface OrganizationsAddress {
  readonly search: string;
  readonly status: OrganizationStatus | "";
  /** The id of a plan. */
  readonly plan: string;
  readonly sort: OrganizationSort | "";
  /** The cursor of a further page. */
  readonly cursor: string;
}

/** What the list shows. */
export interface OrganizationListProps {
  readonly frame: PortalFrame;
  readonly address: OrganizationsAddress;
  readonly organizations: readonly OperatedOrganization[];
  readonly plans: readonly Pick<Plan, "id" | "name">[];
  readonly nextCursor: string | null;
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The list of organizations. */
export function organizationListPage(props: OrganizationListProps): Page {
  const { frame, address, organizations, plans, nextCursor, flash } = props;
  const { search, status, plan, sort, cursor } = address;
  return (
    <PortalPage title="Organizations" frame={frame} place={place}>
      <PageHead title="Organizations" text="Your customers, with their members and active API keys.">
        <ButtonLink tone="primary" href={newHref}>Create organization</ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      <ListFilters
        action={list}
        search={search}
        searches="Name, ID or external ID"
        menus={[
          {
            label: "Status",
            name: "status",
            value: status,
            choices: [
              { value: "", label: "All" },
              { value: "active", label: "Active" },
              { value: "suspended", label: "Suspended" },
            ],
          },
          {
            label: "Plan",
            name: "plan",
            value: plan,
            choices: [
              { value: "", label: "All" },
              ...plans.map(({ id, name }) => ({ value: id, label: name })),
            ],
          },
          {
            label: "Sort by",
            name: "sort",
            value: sort,
            choices: [{ value: "", label: "Newest" }, { value: "name", label: "Name" }],
          },
        ]}
      />
      <Card title={sort === "name" ? "By name" : "Newest first"} flush>
        {organizations.length === 0
          ? <NoOrganizations address={address} />
          : <OrganizationTable organizations={organizations} plans={plans} now={frame.now} />}
      </Card>
      <PageLinks
        links={[
          {
            href: cursor === "" ? null : listHref(list, { search, status, plan, sort }),
            label: "First page",
          },
          { href: nextCursor && listHref(list, { ...address, cursor: nextCursor }), label: "Next page" },
        ]}
      />
    </PortalPage>
  );
}

function NoOrganizations({ address: { search, status, plan } }: Pick<OrganizationListProps, "address">) {
  if (search !== "" || status !== "" || plan !== "") {
    return (
      <EmptyState title="No matching organizations" text="Try another search.">
        <ButtonLink href={list}>Show all</ButtonLink>
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No organizations yet"
      text="They appear here when people sign up, or when you create one."
    />
  );
}

const columns = [
  "Organization",
  "Plan",
  { title: "Members", isNumber: true },
  { title: "Active keys", isNumber: true },
  "Created",
  "Last request",
  "Status",
];

/** The organizations with a link to each. `plans`: the names in the column of plans; without any, it is left out. */
export function OrganizationTable(
  { organizations, plans = [], now }: {
    organizations: readonly OperatedOrganization[];
    plans?: readonly Pick<Plan, "id" | "name">[];
    now: number;
  },
) {
  const names = new Map(plans.map(({ id, name }) => [id, name]));
  return (
    <Table
      label="Organizations"
      columns={columns.filter((column) => column !== "Plan" || plans.length > 0)}
    >
      {organizations.map((organization) => (
        <Row>
          <Cell place="title">
            <LinkedName
              href={organizationHref(organization.id)}
              name={organization.name}
              note={organization.externalId ?? organization.id}
            />
          </Cell>
          {plans.length > 0 && (
            <Cell label="Plan" isOptional>
              <bdi>{names.get(organization.planId) ?? "–"}</bdi>
            </Cell>
          )}
          <Cell label="Members" isNumber isOptional>{groupDigits(organization.memberCount)}</Cell>
          <Cell label="Active keys" isNumber isOptional>{groupDigits(organization.activeApiKeyCount)}</Cell>
          <Cell label="Created" isOptional value={<DayTime at={organization.createdAt} now={now} />} />
          <Cell label="Last request" isOptional>
            <span>
              <LastRequest {...organization} now={now} />
            </span>
          </Cell>
          <Cell place="line">
            <span class="muted tiny">
              {plans.length > 0 && (
                <>
                  <bdi>{names.get(organization.planId) ?? ""}</bdi>
                  {" · "}
                </>
              )}
              {`${countOf(organization.activeApiKeyCount, "active key")} · `}
              {`${countOf(organization.memberCount, "member")} · `}
              <LastRequest {...organization} now={now} words="last request " />
            </span>
          </Cell>
          <Cell place="state" value={<OrganizationStatusBadge status={organization.status} />} />
        </Row>
      ))}
    </Table>
  );
}

function LastRequest(
  { lastUsedAt, now, words = "" }: Pick<OperatedOrganization, "lastUsedAt"> & { now: number; words?: string },
) {
  if (lastUsedAt === null) return <>{words === "" ? "Never" : "no requests yet"}</>;
  return (
    <>
      {words}
      <RelativeTime at={lastUsedAt} now={now} />
    </>
  );
}

/** Whether an organization may act, in a word. */
function OrganizationStatusBadge({ status }: { status: OrganizationStatus }) {
  return status === "suspended" ? <Badge tone="soon">Suspended</Badge> : <Badge tone="on">Active</Badge>;
}

/** What the form that creates an organization shows. */
export interface NewOrganizationProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly plans: readonly Pick<Plan, "id" | "name" | "isDefault">[];
  /** As typed. */
  readonly input: Readonly<Record<string, string>>;
}

/** @returns The page that creates an organization. */
export function newOrganizationPage({ frame, plans, input, fields, message }: NewOrganizationProps): Page {
  return (
    <PortalPage title="Create organization" frame={frame} place={place}>
      <div class="ask">
        <PageHead back={{ href: list, label: "Organizations" }} title="Create organization" />
        <Form class="card" action={newHref}>
          <div class="body">
            <Notice tone="refused" text={message} />
            <NameField
              label="Name"
              value={input["name"] ?? ""}
              error={fields["name"]}
              autocomplete="off"
              autofocus
            />
            <TextField
              label="External ID (optional)"
              name="externalId"
              value={input["externalId"] ?? ""}
              hint="Your own ID for this customer, for example from your billing system."
              error={fields["externalId"]}
              autocomplete="off"
              maxlength={externalIdCharactersMax}
            />
            <SelectField
              label="Plan"
              name="planId"
              value={input["planId"] ?? plans.find(({ isDefault }) => isDefault)?.id ?? ""}
              choices={plans.map(({ id, name }) => ({ value: id, label: name }))}
              error={fields["planId"]}
            />
            <OwnerField
              sendsMail={frame.sendsMail}
              value={input["email"] ?? ""}
              error={fields["owner.email"] ?? fields["email"]}
            />
          </div>
          <footer>
            <SubmitButton>Create organization</SubmitButton>
            <ButtonLink href={list}>Cancel</ButtonLink>
          </footer>
        </Form>
      </div>
    </PortalPage>
  );
}

function OwnerField(
  { sendsMail, value, error }: { sendsMail: boolean; value: string; error?: string | undefined },
) {
  if (!sendsMail) {
    return <p class="muted small">To invite an owner, set SMTP_URL: invitations are sent by email.</p>;
  }
  return (
    <EmailField
      label="Owner's email (optional)"
      value={value}
      hint="We'll email an invitation to become the owner."
      error={error}
      autocomplete="off"
      required={false}
    />
  );
}
