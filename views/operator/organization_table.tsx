// A short table of organizations in the console, and their status.
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { OperatedOrganization } from "../../domain/operator/organization.ts";
import { Badge } from "../components/badge.tsx";
import { ItemTable } from "../components/item_table.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { LinkedName } from "../components/table.tsx";
import { organizationHref } from "./links.ts";

interface OrganizationTableProps {
  readonly organizations: readonly OperatedOrganization[];
  readonly now: number;
}

export function OrganizationTable({ organizations, now }: OrganizationTableProps) {
  return (
    <ItemTable
      label="Organizations"
      items={organizations}
      columns={[
        {
          title: "Organization",
          in: "title",
          cell: ({ id, name, externalId }) => (
            <LinkedName href={organizationHref(id)} name={name} note={externalId ?? id} />
          ),
        },
        {
          title: "Members",
          isNumber: true,
          isOptional: true,
          cell: ({ memberCount }) => groupDigits(memberCount),
        },
        {
          title: "Active keys",
          isNumber: true,
          isOptional: true,
          cell: ({ activeApiKeyCount }) => groupDigits(activeApiKeyCount),
        },
        {
          title: "Created",
          isOptional: true,
          cell: ({ createdAt }) => <DayTime at={createdAt} now={now} />,
        },
        {
          title: "Last request",
          isOptional: true,
          cell: (organization) => (
            <span>
              <LastRequest {...organization} now={now} />
            </span>
          ),
        },
        {
          title: "Summary",
          in: "line",
          cell: (organization) => (
            <span class="muted tiny">
              {`${countOf(organization.activeApiKeyCount, "active key")} · `}
              {`${countOf(organization.memberCount, "member")} · `}
              <LastRequest {...organization} now={now} words="last request " />
            </span>
          ),
        },
        {
          title: "Status",
          in: "state",
          cell: (organization) => <OrganizationStatusBadge {...organization} />,
        },
      ]}
    />
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

export function OrganizationStatusBadge({ status }: Pick<OperatedOrganization, "status">) {
  return status === "active" ? <Badge tone="on">Active</Badge> : <Badge tone="soon">Suspended</Badge>;
}
