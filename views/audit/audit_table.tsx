// The entries of the audit log, one a row: when, who, what, from where, and in which request.
import type { AuditEvent } from "../../domain/audit.ts";
import { auditActorName, auditRefusal, auditSentence } from "./audit_text.ts";
import { Badge } from "../components/badge.tsx";
import { MomentTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";

/** An entry in the list. */
export type AuditRow = AuditEvent & {
  /** The browser or program in words; null when it said nothing. */
  readonly device: string | null;
};

const columns: readonly Column[] = [
  { title: "When, UTC" },
  { title: "Who" },
  { title: "What" },
  { title: "From" },
  { title: "Request" },
];

/** The entries as a table, newest first as given. */
export function AuditTable({ events, now }: { events: readonly AuditRow[]; now: number }) {
  return (
    <Table label="Audit log" columns={columns}>
      {events.map((event) => (
        <Row>
          <Cell label="When, UTC">
            <span class="lines">
              <RelativeTime at={event.at} now={now} />
              <span class="muted tiny">
                <MomentTime at={event.at} now={now} timezone="UTC" />
              </span>
            </span>
          </Cell>
          <Cell label="Who">
            <span class="actor">
              <bdi>{auditActorName(event)}</bdi>
            </span>
          </Cell>
          <Cell place="title">
            <What {...event} />
          </Cell>
          <Cell label="From">
            <span class="lines">
              {event.address === "" ? "—" : event.address}
              {event.device === null ? null : <span class="muted tiny">{event.device}</span>}
            </span>
          </Cell>
          <Cell label="Request">
            {event.requestId === null ? "—" : <code class="request muted pick">{event.requestId}</code>}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

function What(event: AuditRow) {
  const refusal = auditRefusal(event.action);
  return (
    <div class="act">
      {auditSentence(event).map((part) =>
        typeof part === "string" ? part : (
          <bdi class="name">
            {part.name}
          </bdi>
        )
      )}
      {refusal === null ? null : (
        <>
          {" "}
          <Badge tone="soon">{refusal}</Badge>
        </>
      )}
    </div>
  );
}
