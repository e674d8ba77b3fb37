// The list of members, with what the viewer can do with each.
import { groupDigits } from "../../domain/number_text.ts";
import type { Member } from "../../domain/organization.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { actionsColumn, Cell, Row, Table } from "../components/table.tsx";
import { roleWords } from "../text/role.ts";

/** What can be done with a member. */
export type MemberAction = "role" | "owner" | "remove" | "leave";

/** A member in the list, with what the viewer can do. */
export type MemberRow = Member & {
  readonly isYou: boolean;
  readonly actions: readonly MemberAction[];
};

/** The page that the pages about one member return to. */
export const membersBack = { href: "/portal/members", label: "Members" } as const;

const columns = ["Name", "Role", "Two-step", "Active keys", "Joined", actionsColumn];

/** The members as a table, in the given order. */
export function MemberTable({ members, now }: { members: readonly MemberRow[]; now: number }) {
  return (
    <Table label="Members" columns={columns}>
      {members.map((member) => (
        <Row>
          <Cell place="title">
            <div class="name">
              <bdi>{member.user.name}</bdi>
              {member.isYou ? <span class="muted you">you</span> : null}
            </div>
            <div class="muted tiny">{member.user.email}</div>
          </Cell>
          <Cell label="Role" value={<span>{roleWords[member.role]}</span>} />
          <Cell label="Two-step" value={<TwoStep isOn={member.twoStep} />} />
          <Cell label="Active keys">
            <span class="tabular">{groupDigits(member.activeApiKeys)}</span>
          </Cell>
          <Cell label="Joined" value={<DayTime at={member.joinedAt} now={now} />} />
          <Cell place="actions">{member.actions.length === 0 ? null : <Actions member={member} />}</Cell>
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

const actionWords: Readonly<Record<MemberAction, string>> = {
  role: "Change role",
  owner: "Transfer ownership",
  remove: "Remove",
  leave: "Leave",
};

function Actions({ member }: { member: MemberRow }) {
  return (
    <div class="actions-row">
      {member.actions.map((action) => (
        <ButtonLink
          tone={action === "remove" || action === "leave" ? "quiet-destroy" : "quiet"}
          href={memberHref(member.user.id, action)}
          {...(action === "leave" ? {} : { about: member.user.name })}
        >
          {actionWords[action]}
        </ButtonLink>
      ))}
    </div>
  );
}

function TwoStep({ isOn }: { isOn: boolean | null }) {
  if (isOn === null) return <span class="muted">Not shown</span>;
  return isOn ? <Badge tone="on">On</Badge> : <Badge tone="off">Off</Badge>;
}
