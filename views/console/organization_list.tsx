// The console's list of organizations: their usage this month, and which are rejected, above their plan, near a limit or suspended.
import { consolePageItemsMax } from "../../domain/limits.ts";
import { metricOf, summedMetricOf } from "../../domain/meter/catalogue.ts";
import { countOf, groupDigits, percentText } from "../../domain/number_text.ts";
import type {
  LimitFilter,
  LimitLevel,
  OperatedOrganization,
  OrganizationSort,
  OrganizationStatus,
} from "../../domain/console/organization.ts";
import type { Plan } from "../../domain/billing/plan.ts";
import type { OrganizationLine, OrganizationList } from "../../domain/console/organization_list.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { ShortChange } from "../components/change.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Icon } from "../components/icon.tsx";
import { HintLine, ListCard, SearchBox, SortMenu, Tabs } from "../components/list_card.tsx";
import { Menu, MenuLinks } from "../components/menu.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { Quantity } from "../components/quantity.tsx";
import { LastUsage } from "../components/last_usage.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../components/row_menu.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { actionsColumn, Cell, type Column, LinkedName, Row, Table, Words } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import type { Measure } from "../text/quantity.ts";
import { monthWords } from "../text/time.ts";
import { organizationHref, organizationPlanHref, organizationsHref } from "../components/links.ts";
import { listHref } from "../components/list_filters.tsx";

/** The choices in the address of the list; null for the usual ones. */
export interface OrganizationListAddress {
  /** "" for none. */
  readonly search: string;
  readonly status: OrganizationStatus | null;
  readonly limits: LimitFilter | null;
  /** The id of a plan. */
  readonly plan: string | null;
  readonly metric: string | null;
  readonly sort: OrganizationSort | null;
}

export const usualSort = "usage";

interface OrganizationListProps {
  readonly frame: PortalFrame;
  readonly list: OrganizationList;
  readonly address: OrganizationListAddress;
  readonly plans: readonly Pick<Plan, "id" | "name">[];
  readonly flash: string | null;
  /** Why choices in the address were ignored. */
  readonly problems: readonly string[];
}

export function organizationListPage(props: OrganizationListProps): Page {
  const { frame, list, address, flash, problems } = props;
  const { all, active } = list.organizations;
  return (
    <PortalPage title="Organizations" frame={frame} place="operator/organizations">
      <PageHead
        title="Organizations"
        text={`${countOf(all, "organization")}, ${groupDigits(active)} active this month.`}
      >
        {all > 0 && (
          <ButtonLink href={hrefTo(address, {}, "/api/operator/organizations.csv")} isFile>
            Download CSV
          </ButtonLink>
        )}
        <ButtonLink tone="primary" href={`${organizationsHref}/new`}>
          <Icon name="plus" />
          Create organization
        </ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      <Notice tone="error" text={problems.join(" ")} />
      <ListCard
        label="Organizations"
        tabs={<ListTabs {...props} />}
        tools={<Tools {...props} />}
        footer={<Footer {...props} />}
      >
        <Hint {...props} />
        {list.lines.length === 0 ? <NoLines address={address} /> : <Lines {...props} />}
      </ListCard>
    </PortalPage>
  );
}

/** Returns the address of the list with other choices, of its first page unless one is given. */
function hrefTo(
  address: OrganizationListAddress,
  other: Partial<OrganizationListAddress> & { readonly page?: number },
  path = organizationsHref,
): string {
  const { page = 1, ...choices } = { ...address, ...other };
  // The API sorts by age unless told otherwise.
  const sort = path === organizationsHref ? choices.sort : choices.sort ?? usualSort;
  return listHref(path, { ...choices, sort, page: page === 1 ? null : String(page) });
}

function ListTabs({ list: { counts }, address }: OrganizationListProps) {
  const tabs = [
    { label: "All", count: counts.all, status: null, limits: null },
    { label: "Rejected", count: counts.rejected, status: null, limits: "rejected", tone: "bad" },
    { label: "Above plan", count: counts.above, status: null, limits: "above" },
    { label: "Near limit", count: counts.near, status: null, limits: "near" },
    { label: "Suspended", count: counts.suspended, status: "suspended", limits: null },
  ] as const;
  return (
    <Tabs
      label="Status"
      tabs={tabs.map(({ status, limits, ...tab }) => ({
        ...tab,
        href: hrefTo(address, { status, limits }),
        isCurrent: status === address.status && limits === address.limits,
      }))}
    />
  );
}

function Tools({ list, address, plans }: OrganizationListProps) {
  const { metrics, metric, catalogue } = list;
  const { search: _search, ...choices } = address;
  const plan = plans.find(({ id }) => id === address.plan);
  const hidden = Object.entries(choices).flatMap(([name, value]) => value === null ? [] : [[name, value]]);
  const sorts = [
    ["usage", metric === null ? "Usage this month" : `${metricOf(catalogue, metric).name} this month`],
    ["growth", "Growth"],
    ["name", "Name"],
    ["createdAt", "Newest"],
  ] as const;
  return (
    <>
      <SearchBox
        action={organizationsHref}
        search={address.search}
        searches="name, ID or owner"
        hidden={Object.fromEntries(hidden)}
      />
      {metric !== null && metrics.length > 1 && (
        <Menu label="Metric" value={metricOf(catalogue, metric).name} isValueAlone isAtEnd>
          <MenuLinks
            choices={metrics.map((one) => ({
              href: hrefTo(address, { metric: one }),
              label: metricOf(catalogue, one).name,
              isCurrent: one === metric,
            }))}
          />
        </Menu>
      )}
      <Menu label="Plan" value={plan?.name ?? "All"} isAtEnd>
        <MenuLinks
          choices={[{ id: null, name: "All plans" }, ...plans].map(({ id, name }) => ({
            href: hrefTo(address, { plan: id }),
            label: name,
            isCurrent: id === address.plan,
          }))}
        />
      </Menu>
      <SortMenu
        orders={sorts.map(([sort, label]) => ({
          href: hrefTo(address, { sort: sort === usualSort ? null : sort }),
          label,
          isCurrent: sort === (address.sort ?? usualSort),
        }))}
      />
    </>
  );
}

function Hint({ list, address }: OrganizationListProps) {
  const { search, status } = address;
  if (search !== "") {
    return (
      <HintLine
        text={
          <>
            {`${countOf(list.total, "organization")} found for `}
            “<bdi>{search}</bdi>”
          </>
        }
        href={hrefTo(address, { search: "" })}
        action="Clear search"
      />
    );
  }
  if (status !== "active") return null;
  return (
    <HintLine
      text="Suspended organizations are hidden."
      href={hrefTo(address, { status: null })}
      action="Show all"
    />
  );
}

const noneWords: Readonly<Record<LimitLevel, { title: string; text: string }>> = {
  rejected: {
    title: "No organization is rejected",
    text: "Organizations appear here whose requests are rejected because a hard or cutoff limit is used up.",
  },
  above: {
    title: "No organization is above its plan",
    text: "Organizations that have used up a soft limit appear here. Their requests are accepted.",
  },
  near: { title: "No organization is near a limit", text: "Those that have used 80% of one appear here." },
};

function NoLines({ address }: Pick<OrganizationListProps, "address">) {
  const { search, status, limits, plan } = address;
  if (search !== "" || plan !== null) {
    return (
      <EmptyState title="No matching organizations" text="Try another search or plan.">
        <ButtonLink href={organizationsHref}>Show all</ButtonLink>
      </EmptyState>
    );
  }
  if (limits !== null) return <EmptyState {...noneWords[limits === "over" ? "above" : limits]} />;
  if (status !== null) {
    return (
      <EmptyState
        title={`No ${status} organizations`}
        text={`Organizations that are ${status} appear here.`}
      />
    );
  }
  return (
    <EmptyState
      title="No organizations yet"
      text="They appear here when people sign up, or when you create one."
    />
  );
}

function Footer({ list: { lines, total, page, pages }, address }: OrganizationListProps) {
  const first = (page - 1) * consolePageItemsMax;
  const text = pages === 1
    ? countOf(total, "organization")
    : `${groupDigits(first + 1)}–${groupDigits(first + lines.length)} of ${groupDigits(total)}`;
  return (
    <>
      <span>
        <span data-announce={text}>{text}</span>
        {". Months begin and end in UTC."}
      </span>
      <PageLinks
        links={[
          { href: page > 1 ? hrefTo(address, { page: page - 1 }) : null, label: "Previous" },
          { href: page < pages ? hrefTo(address, { page: page + 1 }) : null, label: "Next" },
        ]}
      />
    </>
  );
}

function Lines({ frame: { now }, list, address, plans }: OrganizationListProps) {
  const measure = list.metric === null
    ? { name: "Usage", unit: null }
    : summedMetricOf(list.catalogue, list.metric);
  const [month = ""] = monthWords(now).split(" ");
  const names = new Map(plans.map(({ id, name }) => [id, name]));
  const sortBy = (sort: OrganizationSort, direction: "ascending" | "descending"): Pick<Column, "sort"> => ({
    sort: {
      href: hrefTo(address, { sort: sort === usualSort ? null : sort }),
      direction: sort === (address.sort ?? usualSort) ? direction : null,
    },
  });
  const columns: readonly (string | Column)[] = [
    { title: "Organization", ...sortBy("name", "ascending") },
    "Plan",
    "Status",
    { title: "Members", isNumber: true, drop: 2 },
    { title: "Keys", isNumber: true, drop: 2 },
    { title: `${measure.name}, ${month}`, isNumber: true, place: "total", ...sortBy("usage", "descending") },
    { title: "Change", isNumber: true, ...sortBy("growth", "descending") },
    { title: "Share", isNumber: true, drop: 2 },
    { title: "Last request", drop: 1 },
    actionsColumn,
  ];
  return (
    <Table label="Organizations" columns={columns} kind="cards">
      {list.lines.map((line) => (
        <Line
          line={line}
          plan={names.get(line.organization.planId) ?? "–"}
          measure={measure}
          month={month}
          now={now}
        />
      ))}
    </Table>
  );
}

function Line({ line, plan, measure, month, now }: {
  line: OrganizationLine;
  plan: string;
  measure: Measure;
  month: string;
  now: number;
}) {
  const { organization, days, change, share } = line;
  const { id, name, externalId, usage } = organization;
  const sum = usage?.sum ?? "0";
  return (
    <Row>
      <Cell place="title">
        <LinkedName href={organizationHref(id)} name={name} note={externalId ?? "No external ID"} />
      </Cell>
      <Cell place="start" value={<bdi class="plan">{plan}</bdi>} />
      <Cell place="end" value={<LineStatus line={line} />} />
      <Cell isNumber drop={2} isOffCard value={groupDigits(organization.memberCount)} />
      <Cell isNumber drop={2} isOffCard value={groupDigits(organization.activeApiKeyCount)} />
      <Cell place="total">
        <span class="course">
          <Sparkline values={days} />
          <span class="num">
            <Quantity value={sum} measure={measure} />
            <span class="muted tiny">
              <Words onCard={` in ${month}`} />
            </span>
          </span>
        </span>
      </Cell>
      <Cell
        place="start"
        isNumber
        value={change === null && sum === "0" ? none : <ShortChange percent={change} />}
      />
      <Cell
        isNumber
        drop={2}
        isOffCard
        value={share === null || sum === "0" ? none : percentText(share, { always: true })}
      />
      <Cell place="end" drop={1} isQuiet value={<LastRequest {...organization} now={now} />} />
      <Cell place="actions">
        <RowMenu about={name} actions={actionsOf(line)} />
      </Cell>
    </Row>
  );
}

const none = (
  <span class="muted">
    <Words offCard="–" />
  </span>
);

function LineStatus({ line: { organization: { status }, level } }: { line: OrganizationLine }) {
  if (status === "suspended") return <Badge tone="soon">Suspended</Badge>;
  if (level === "rejected") return <Badge tone="bad">Rejected</Badge>;
  if (level === "above") return <Badge tone="off">Above plan</Badge>;
  if (level === "near") return <Badge tone="soon">Near limit</Badge>;
  return <span class="muted">Active</span>;
}

/** Without requests, also the last usage, which operators recorded. */
function LastRequest(
  { lastUsedAt, lastUsageAt, now }: Pick<OperatedOrganization, "lastUsedAt" | "lastUsageAt"> & {
    now: number;
  },
) {
  if (lastUsedAt === null) {
    return (
      <>
        <Words onCard="No requests yet" offCard="Never" />
        {lastUsageAt && (
          <span class="second">
            {"Usage "}
            <LastUsage at={Date.parse(lastUsageAt)} now={now} isInSentence />
          </span>
        )}
      </>
    );
  }
  return (
    <>
      <Words onCard="Last request " />
      <RelativeTime at={lastUsedAt} now={now} />
    </>
  );
}

function actionsOf({ organization: { id, status } }: OrganizationLine): MenuAction[] {
  const href = organizationHref(id);
  return [
    { href, label: "Open", icon: "building" },
    { href: `${href}/usage/records`, label: "Records", icon: "list" },
    { href: organizationPlanHref(id), label: "Change plan", icon: "gauge" },
    status === "suspended"
      ? { href: `${href}/resume`, label: "Resume", icon: "play" }
      : { href: `${href}/suspend`, label: "Suspend", icon: "pause", isDanger: true },
  ];
}
