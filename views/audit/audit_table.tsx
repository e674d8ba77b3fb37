// The list of audit log entries.
import type { AuditEvent } from "../../domain/audit.ts";
import { auditActorName, auditDenial, auditSentence } from "./audit_text.ts";
import { organizationHref } from "../operator/links.ts";
import { Badge } from "../components/badge.tsx";
import { MomentTime, RelativeTime } from "../components/relative_time.tsx";
import { Cell, Row, Table } from "../components/table.tsx";

/** An entry in the list. */
export type AuditRow = AuditEvent & {
  /** The name of the browser or program, or null. */
  readonly device: string | null;
  /** In the operator console: the organization whose log it is in. */
  readonly organizationId?: string | null;
};

const columns = ["Time (UTC)", "Actor", "Action", "Source", "Request"];

/** The entries as a table, in the given order. */
export function AuditTable({ events, now }: { events: readonly AuditRow[]; now: number }) {
  return (
    <Table label="Audit log" columns={columns}>
      {events.map((event) => (
        <Row>
          <Cell label="Time (UTC)">
            <span class="lines">
              <RelativeTime at={event.at} now={now} />
              <span class="muted tiny">
                <MomentTime at={event.at} now={now} timezone="UTC" />
              </span>
            </span>
          </Cell>
          <Cell label="Actor">
            <span class="actor">
              <bdi>{auditActorName(event)}</bdi>
            </span>
          </Cell>
          <Cell place="title" value={<AuditSentence {...event} />} />
          <Cell label="Source">
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

/** What was done. */
export function AuditSentence(event: Omit<AuditRow, "device">) {
  const denial = auditDenial(event.action);
  return (
    <div class="act">
      {auditSentence(event).map((part) =>
        typeof part === "string" ? part : <bdi class="name">{part.name}</bdi>
      )}
      {denial === null ? null : (
        <>
          {" "}
          <Badge tone="soon">{denial}</Badge>
        </>
      )}
      {event.organizationId && (
        <div class="tiny">
          <a class="muted" href={organizationHref(event.organizationId)}>{event.organizationId}</a>
        </div>
      )}
    </div>
  );
}
