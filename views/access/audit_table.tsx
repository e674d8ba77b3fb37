// The list of audit log entries.
import type { AuditEvent } from "../../domain/access/audit.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { auditActorName, auditDenial, auditSentence } from "./audit_text.ts";
import { organizationHref, recordHref, userHref } from "../components/links.ts";
import { Badge } from "../components/badge.tsx";
import { presentation } from "../../domain/presentation.ts";
import { zoneWords } from "../text/time.ts";
import { MomentTime } from "../components/relative_time.tsx";
import { Cell, type Column, Row, Table } from "../components/table.tsx";
import { Icon } from "../components/icon.tsx";
import { isId } from "../../domain/id.ts";
import { apiKeyHref } from "../components/key_name.tsx";
import type { PortalFrame } from "../layout.tsx";

export type AuditRow = AuditEvent & {
  /** The name of the browser or program, or null. */
  readonly device: string | null;
  /** In the operator console: the organization whose log it is in. */
  readonly organizationId?: string | null;
};

type AuditFrame = Pick<PortalFrame, "base" | "isConsole" | "isReadOnly" | "viewed">;

const columns: Column[] = [
  { title: "Actor" },
  { title: "Action" },
  { title: "Source" },
];

export function AuditTable(
  { events, frame, catalogue }: { events: readonly AuditRow[]; frame: PortalFrame; catalogue: Catalogue },
) {
  return (
    <Table
      label="Audit log"
      columns={[{ title: `Time, ${zoneWords(presentation().timezone)}` }, ...columns]}
      kind="cards"
    >
      {events.map((event) => (
        <Row>
          <Cell place="end">
            <MomentTime at={event.at} now={frame.now} />
          </Cell>
          <Cell place="start">
            <AuditName name={auditActorName(event)} id={event.actor.id ?? undefined} frame={frame} />
          </Cell>
          <Cell place="title" value={<AuditSentence {...event} frame={frame} catalogue={catalogue} />} />
          <Cell place="client">
            <Source {...event} />
            {event.device === null ? null : <span class="second">{event.device}</span>}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** Opens to the id of the request, for searches in logs. */
function Source({ address, requestId }: Pick<AuditRow, "address" | "requestId">) {
  const text = address === "" ? <span class="off-only">—</span> : address;
  if (requestId === null) return text;
  return (
    <details class="source">
      <summary>
        {text}
        <span class="unseen">: request</span>
        <Icon name="chevron" />
      </summary>
      <span class="muted tiny">Request</span> <code class="request pick">{requestId}</code>
    </details>
  );
}

/** A link if its object has a page. */
function AuditName({ name, id, frame }: { name: string; id?: string | undefined; frame: AuditFrame }) {
  const href = id === undefined ? null : objectHref(id, frame);
  if (href === null) return <bdi class="name">{name}</bdi>;
  return (
    <a class="name" href={href}>
      <bdi>{name}</bdi>
    </a>
  );
}

export function AuditSentence(
  { frame, catalogue, ...event }: Omit<AuditRow, "device"> & {
    frame: AuditFrame;
    /** The names of products and metrics. */
    catalogue: Catalogue;
  },
) {
  const denial = auditDenial(event.action);
  return (
    <div class="act">
      {auditSentence(event, catalogue).map((part) =>
        typeof part === "string" ? part : <AuditName {...part} frame={frame} />
      )}
      {denial === null ? null : (
        <>
          {" "}
          <Badge tone="soon">{denial}</Badge>
        </>
      )}
      {event.organizationId && event.organizationId !== frame.viewed?.id && (
        <div class="tiny">
          <a class="muted" href={organizationHref(event.organizationId)}>{event.organizationId}</a>
        </div>
      )}
    </div>
  );
}

export function objectHref(
  id: string,
  { base, isConsole, isReadOnly }: Omit<AuditFrame, "viewed">,
): string | null {
  if (isConsole) {
    return isId("usr", id) ? userHref(id) : isId("org", id) ? organizationHref(id) : null;
  }
  if (isId("key", id)) return apiKeyHref(base, id);
  if (isId("usr", id)) return `${base}/members#${id}`;
  if (isId("org", id)) return isReadOnly ? null : `${base}/organization`;
  return id.startsWith("use_") ? recordHref(base, id) : null;
}
