// The list of members, with the viewer's actions for each.
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { Member } from "../../domain/organization.ts";
import { Badge } from "../components/badge.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../components/row_menu.tsx";
import { actionsColumn, Cell, type Column, LinkedName, Row, Table, Words } from "../components/table.tsx";
import type { PortalFrame } from "../layout.tsx";
import { userHref } from "../components/links.ts";
import { roleWords } from "../text/role.ts";

export type MemberAction = "role" | "remove" | "leave";

export type MemberRow = Member & { readonly actions: readonly MemberAction[] };

/** Links back from the pages about one member or invitation. */
export const membersBack = ({ base }: PortalFrame) => ({ href: `${base}/members`, label: "Members" });

const columns: readonly Column[] = [
  { title: "Name" },
  { title: "Role" },
  { title: "Two-step sign-in" },
  { title: "Active keys", isNumber: true },
  { title: "Joined", drop: 2 },
  actionsColumn,
];

export function MemberTable({ members, frame }: { members: readonly MemberRow[]; frame: PortalFrame }) {
  return (
    <Table label="Members" kind="cards" columns={columns}>
      {members.map((member) => (
        <Row id={member.user.id}>
          <Cell place="title">
            <MemberName user={member.user} frame={frame} />
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
            <DayTime at={member.joinedAt} now={frame.now} />
          </Cell>
          <Cell place="actions">
            <RowMenu about={member.user.name} actions={member.actions.map(menuAction(member))} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

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

/** Operators get a link to the user's page in the console. */
function MemberName({ user: { id, name }, frame }: { user: Member["user"]; frame: PortalFrame }) {
  if (frame.viewed !== null) return <LinkedName href={userHref(id)} name={name} />;
  return (
    <div class="name">
      <bdi>{name}</bdi>
      {id === frame.session.user.id && <span class="muted you">you</span>}
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
