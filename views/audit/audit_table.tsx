// The list of audit log entries.
import type { AuditEvent } from "../../domain/audit.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { auditActorName, auditDenial, auditSentence } from "./audit_text.ts";
import { organizationHref, userHref } from "../operator/links.ts";
import { Badge } from "../components/badge.tsx";
import { presentation } from "../../domain/presentation.ts";
import { zoneWords } from "../text/time.ts";
import { MomentTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";
import { isId } from "../../domain/id.ts";
import { apiKeyHref } from "../components/key_name.tsx";
import { recordHref } from "../meter/record_table.tsx";

export type AuditRow = AuditEvent & {
  /** The name of the browser or program, or null. */
  readonly device: string | null;
  /** In the operator console: the organization whose log it is in. */
  readonly organizationId?: string | null;
};

const columns: Column[] = [
  { title: "Actor" },
  { title: "Action" },
  { title: "Source" },
  { title: "Request", drop: 2 },
];

export function AuditTable(
  { events, now, ...context }: { events: readonly AuditRow[]; now: number } & SentenceContext,
) {
  const { isConsole } = context;
  return (
    <Table
      label="Audit log"
      columns={[{ title: `Time, ${zoneWords(presentation().timezone)}` }, ...columns]}
      kind="cards"
    >
      {events.map((event) => (
        <Row>
          <Cell place="end">
            <MomentTime at={event.at} now={now} />
          </Cell>
          <Cell place="start">
            <AuditName name={auditActorName(event)} id={event.actor.id ?? undefined} isConsole={isConsole} />
          </Cell>
          <Cell place="title" value={<AuditSentence {...event} {...context} />} />
          <Cell place="client">
            {event.address === "" ? <span class="off-only">—</span> : event.address}
            {event.device === null ? null : <span class="second">{event.device}</span>}
          </Cell>
          <Cell drop={2} isOffCard>
            {event.requestId === null ? "—" : <code class="request muted pick">{event.requestId}</code>}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** A link if its object has a page. */
function AuditName({ name, id, isConsole }: { name: string; id?: string | undefined; isConsole: boolean }) {
  const href = id === undefined ? null : objectHref(id, { isConsole });
  if (href === null) return <bdi class="name">{name}</bdi>;
  return (
    <a class="name" href={href}>
      <bdi>{name}</bdi>
    </a>
  );
}

interface SentenceContext {
  readonly isConsole: boolean;
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
}

export function AuditSentence(
  { isConsole, catalogue, ...event }: Omit<AuditRow, "device"> & SentenceContext,
) {
  const denial = auditDenial(event.action);
  return (
    <div class="act">
      {auditSentence(event, catalogue).map((part) =>
        typeof part === "string" ? part : <AuditName {...part} isConsole={isConsole} />
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

export function objectHref(id: string, { isConsole }: { isConsole: boolean }): string | null {
  if (isConsole) {
    return isId("usr", id) ? userHref(id) : isId("org", id) ? organizationHref(id) : null;
  }
  if (isId("key", id)) return apiKeyHref("/portal", id);
  if (isId("usr", id)) return `/portal/members#${id}`;
  if (isId("org", id)) return "/portal/organization";
  return id.startsWith("use_") ? recordHref("/portal", id) : null;
}
