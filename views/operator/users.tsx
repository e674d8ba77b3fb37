// The console's list of users.
import type { OperatorUser } from "../../domain/operator/user.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, LinkedName, Row, Table } from "../components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { userHref, usersHref } from "./links.ts";
import { ListFilters, listHref } from "./list_filters.tsx";

/** The choices in the address of the list. Empty: all. */
export interface UsersAddress {
  readonly search: string;
  readonly status: "active" | "disabled" | "";
  /** The cursor of a further page. */
  readonly cursor: string;
}

/** What the list shows. */
export interface UserListProps {
  readonly frame: PortalFrame;
  readonly address: UsersAddress;
  readonly users: readonly OperatorUser[];
  readonly nextCursor: string | null;
}

/** @returns The list of users. */
export function userListPage({ frame, address, users, nextCursor }: UserListProps): Page {
  const { search, status, cursor } = address;
  const statuses = [
    { value: "", label: "All" },
    { value: "active", label: "Active" },
    { value: "disabled", label: "Disabled" },
  ];
  return (
    <PortalPage title="Users" frame={frame} place="operator/users">
      <PageHead title="Users" text="Everyone with an account, in any organization." />
      <ListFilters
        action={usersHref}
        search={search}
        searches="Name, email or ID"
        menus={[{ label: "Status", name: "status", value: status, choices: statuses }]}
      />
      <Card title="Newest first" flush>
        {users.length > 0
          ? <UserTable users={users} now={frame.now} />
          : (
            <EmptyState title="No matching users" text="Try another search.">
              <ButtonLink href={usersHref}>Show all</ButtonLink>
            </EmptyState>
          )}
      </Card>
      <PageLinks
        links={[
          { href: cursor === "" ? null : listHref(usersHref, { search, status }), label: "First page" },
          { href: nextCursor && listHref(usersHref, { ...address, cursor: nextCursor }), label: "Next page" },
        ]}
      />
    </PortalPage>
  );
}

function UserTable({ users, now }: { users: readonly OperatorUser[]; now: number }) {
  return (
    <Table
      label="Users"
      columns={["User", "Organizations", "Two-step sign-in", "Created", "Last sign-in", "Status"]}
    >
      {users.map((user) => (
        <Row>
          <Cell
            place="title"
            value={<LinkedName href={userHref(user.id)} name={user.name} note={user.email} />}
          />
          <Cell label="Organizations" isOptional value={<OrganizationsText {...user} />} />
          <Cell label="Two-step sign-in" isOptional value={<span>{user.twoStep ? "On" : "Off"}</span>} />
          <Cell label="Created" isOptional value={<DayTime at={user.createdAt} now={now} />} />
          <Cell label="Last sign-in" isOptional>
            <span>
              {user.lastSignInAt === null ? "–" : <RelativeTime at={user.lastSignInAt} now={now} />}
            </span>
          </Cell>
          <Cell place="line">
            <span class="muted tiny">
              <OrganizationsText {...user} />
              {` · two-step sign-in ${user.twoStep ? "on" : "off"}`}
            </span>
          </Cell>
          <Cell place="state" value={<UserBadges {...user} />} />
        </Row>
      ))}
    </Table>
  );
}

function OrganizationsText({ organizations }: Pick<OperatorUser, "organizations">) {
  const [first, ...others] = organizations;
  if (first === undefined) return <span class="muted">None</span>;
  return (
    <span>
      <bdi>{first.name}</bdi>
      {others.length > 0 && <span class="muted">{` and ${others.length} more`}</span>}
    </span>
  );
}

/** Whether a user can sign in, and whether they are an operator. */
export function UserBadges({ disabledAt, isOperator }: Pick<OperatorUser, "disabledAt" | "isOperator">) {
  return (
    <span class="buttons">
      {disabledAt === null ? <Badge tone="on">Active</Badge> : <Badge tone="soon">Disabled</Badge>}
      {isOperator && <Badge tone="off">Operator</Badge>}
    </span>
  );
}
