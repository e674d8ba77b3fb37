// The list of members, with what the viewer can do with each.
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { Member } from "../../domain/organization.ts";
import { Badge } from "../components/badge.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../components/row_menu.tsx";
import { actionsColumn, Cell, type Column, Row, Table, Words } from "../components/table.tsx";
import { roleWords } from "../text/role.ts";

/** What can be done with a member. */
export type MemberAction = "role" | "remove" | "leave";

/** A member in the list. */
export type MemberRow = Member & {
  readonly isYou?: boolean;
  /** What the viewer can do. */
  readonly actions?: readonly MemberAction[];
  /** The address of the person's page. */
  readonly href?: string;
};

/** The page that the pages about one member return to. */
export const membersBack = { href: "/portal/members", label: "Members" } as const;

const columns: readonly Column[] = [
  { title: "Name" },
  { title: "Role" },
  { title: "Two-step sign-in" },
  { title: "Active keys", isNumber: true },
  { title: "Joined", drop: 2 },
  actionsColumn,
];

/** The members as a table, in the given order. */
export function MemberTable({ members, now }: { members: readonly MemberRow[]; now: number }) {
  return (
    <Table label="Members" kind="cards" columns={columns}>
      {members.map((member) => (
        <Row id={member.user.id}>
          <Cell place="title">
            <MemberName member={member} />
            <div class="muted tiny">{member.user.email}</div>
          </Cell>
          <Cell place="start" value={roleWords[member.role]} />
          <Cell place="end" value={<TwoStep isOn={member.twoStep} />} />
          <Cell place="start" isNumber>
            <span class="off-only">{groupDigits(member.activeApiKeys)}</span>
            <Words onCard={countOf(member.activeApiKeys, "active key")} />
          </Cell>
          <Cell place="end" drop={2} isQuiet>
            <Words onCard="Joined " />
            <DayTime at={member.joinedAt} now={now} />
          </Cell>
          <Cell place="actions">
            <RowMenu about={member.user.name} actions={(member.actions ?? []).map(menuAction(member))} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** @returns The address of a page about one member. */
export function memberHref(userId: string, action: MemberAction): string {
  return action === "leave"
    ? "/portal/members/leave"
    : `/portal/members/${encodeURIComponent(userId)}/${action}`;
}

const menuWords: Readonly<Record<MemberAction, Omit<MenuAction, "href">>> = {
  role: { label: "Change role", icon: "edit" },
  remove: { label: "Remove", icon: "trash", isDanger: true },
  leave: { label: "Leave", icon: "out", isDanger: true },
};

const menuAction = ({ user }: Member) => (action: MemberAction): MenuAction => ({
  ...menuWords[action],
  href: memberHref(user.id, action),
});

function MemberName({ member: { user, isYou, href } }: { member: MemberRow }) {
  const name = <bdi>{user.name}</bdi>;
  if (href !== undefined) return <a class="name" href={href}>{name}</a>;
  return (
    <div class="name">
      {name}
      {isYou ? <span class="muted you">you</span> : null}
    </div>
  );
}

function TwoStep({ isOn }: { isOn: boolean | null }) {
  if (isOn === null) return <span class="muted">Not shown</span>;
  return (
    <Badge tone={isOn ? "on" : "soon"}>
      <Words onCard="Two-step " />
      {isOn ? "On" : "Off"}
    </Badge>
  );
}
