// The list of members: who they are, what they are, and what whoever looks can do about each.
import type { Role } from "../../domain/sign_in/session.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { roleWords } from "../text/role.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import type { Fact } from "../components/confirm_panel.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";

/** A member of an organization. */
export interface MemberView {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
  readonly role: Role;
  /** ISO 8601 UTC. */
  readonly joinedAt: string;
  /** Two-step sign-in is on; null where that is not shown. */
  readonly twoStep: boolean | null;
  /** Active API keys that they made here. */
  readonly activeApiKeys: number;
}

/** What can be done about a member. */
export type MemberAct = "role" | "owner" | "remove" | "leave";

/** A member in the list. */
export type MemberRow = MemberView & {
  readonly isYou: boolean;
  /** What whoever looks may do. */
  readonly acts: readonly MemberAct[];
};

/** Where the pages about one member come from. */
export const membersBack = { href: "/portal/members", label: "Members" } as const;

const columns: readonly Column[] = [
  { title: "Name" },
  { title: "Role" },
  { title: "Two-step" },
  { title: "Active keys" },
  { title: "Joined" },
  { title: "Actions", isUnseen: true },
];

/** The members as a table, in the order as given. */
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
          <Cell label="Role">
            <span>{roleWords[member.role]}</span>
          </Cell>
          <Cell label="Two-step">
            {member.twoStep === null
              ? <span class="muted">Not shown</span>
              : <TwoStepBadge isOn={member.twoStep} />}
          </Cell>
          <Cell label="Active keys">
            <span class="tabular">{groupDigits(member.activeApiKeys)}</span>
          </Cell>
          <Cell label="Joined">
            <DayTime at={member.joinedAt} now={now} />
          </Cell>
          <Cell place="actions">{member.acts.length === 0 ? null : <Acts member={member} />}</Cell>
        </Row>
      ))}
    </Table>
  );
}

/** @returns The address of a page about one member. */
export function memberHref(userId: string, act: MemberAct): string {
  return act === "leave" ? "/portal/members/leave" : `/portal/members/${encodeURIComponent(userId)}/${act}`;
}

/** @returns Who a page is about. */
export function memberFacts(member: MemberView, now: number): readonly Fact[] {
  return [
    { label: "E-mail", value: member.user.email },
    { label: "Role", value: roleWords[member.role] },
    { label: "Joined", value: <DayTime at={member.joinedAt} now={now} /> },
  ];
}

const actWords: Readonly<Record<MemberAct, string>> = {
  role: "Change role",
  owner: "Make owner",
  remove: "Remove",
  leave: "Leave",
};

function Acts({ member }: { member: MemberRow }) {
  return (
    <div class="actions-row">
      {member.acts.map((act) => (
        <ButtonLink
          tone={act === "remove" || act === "leave" ? "quiet-destroy" : "quiet"}
          href={memberHref(member.user.id, act)}
          {...(act === "leave" ? {} : { about: member.user.name })}
        >
          {actWords[act]}
        </ButtonLink>
      ))}
    </div>
  );
}

function TwoStepBadge({ isOn }: { isOn: boolean }) {
  return isOn ? <Badge tone="on">On</Badge> : <Badge tone="off">Off</Badge>;
}
