// Where somebody is signed in, one place a row, and the button that ends it.
import { Badge } from "../components/badge.tsx";
import { SubmitButton } from "../components/button.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";

/** A session in the list. Times are ISO 8601 UTC. */
export interface SessionRow {
  readonly id: string;
  /** The one that asks. */
  readonly current: boolean;
  /** In words: `Chrome on Linux`. */
  readonly device: string;
  readonly address: string;
  readonly createdAt: string;
  readonly lastSeenAt: string;
}

const columns: readonly Column[] = [
  { title: "Device" },
  { title: "Address" },
  { title: "Last used" },
  { title: "Signed in" },
  { title: "State", isUnseen: true },
  { title: "Actions", isUnseen: true },
];

/** The sessions as a table, in the order given. */
export function SessionTable({ sessions, now }: { sessions: readonly SessionRow[]; now: number }) {
  return (
    <Table label="Where you are signed in" columns={columns}>
      {sessions.map((session) => (
        <Row>
          <Cell place="title">
            <span class="name">
              <bdi>{session.device}</bdi>
            </span>
          </Cell>
          <Cell label="Address">
            <code>{session.address}</code>
          </Cell>
          <Cell label="Last used">
            {session.current ? <span>Now</span> : <RelativeTime at={session.lastSeenAt} now={now} />}
          </Cell>
          <Cell label="Signed in">
            <DayTime at={session.createdAt} now={now} />
          </Cell>
          <Cell place="state">{session.current ? <Badge tone="on">This one</Badge> : null}</Cell>
          <Cell place="actions">{session.current ? null : <End {...session} />}</Cell>
        </Row>
      ))}
    </Table>
  );
}

function End({ id, device, address }: SessionRow) {
  return (
    <form
      class="actions-row"
      method="post"
      action={`/portal/account/security/sessions/${encodeURIComponent(id)}/end`}
      hx-disable="find button"
    >
      <SubmitButton tone="quiet-destroy" about={`${device}, ${address}`}>Sign out</SubmitButton>
    </form>
  );
}
