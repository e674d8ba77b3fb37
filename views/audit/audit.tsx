// The page of an organization's audit log: what was done, by whom, from where.
import { auditRetentionMs } from "../../domain/limits.ts";
import { type AuditAddress, auditHref, wholeAuditLog } from "./audit_address.ts";
import { AuditFilterBar, type AuditFilterProps } from "./audit_filters.tsx";
import { type AuditRow, AuditTable } from "./audit_table.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

export { type AuditAddress, auditHref, type AuditRow, wholeAuditLog };

/** What the page shows. */
export interface AuditPageProps extends AuditFilterProps {
  readonly frame: PortalFrame;
  /** A page of them, newest first; none where a field has a fault. */
  readonly events: readonly AuditRow[];
  readonly nextCursor: string | null;
  /** The file with all that fits; null where a field has a fault. */
  readonly csvHref: string | null;
}

const retentionDays = auditRetentionMs / (24 * 3_600_000);

/** @returns The page of the organization's audit log. */
export function auditPage(props: AuditPageProps): Page {
  const { frame, address, events, nextCursor, csvHref } = props;
  return (
    <PortalPage title="Audit log" frame={frame} place="audit">
      <div class="head split">
        <div>
          <h1>Audit log</h1>
          <p class="muted">
            {`Who did what in this organization, and from where; also what was refused. Kept for ${retentionDays} days.`}
          </p>
        </div>
        {csvHref === null ? null : <ButtonLink href={csvHref} isFile>Download CSV</ButtonLink>}
      </div>
      <AuditFilterBar {...props} />
      <Card title={address.cursor === null ? "Newest first" : "Older entries"} flush>
        {events.length === 0 ? <Nothing {...props} /> : <AuditTable events={events} now={frame.now} />}
      </Card>
      {address.cursor === null && nextCursor === null ? null : (
        <nav class="pages" aria-label="Pages">
          {address.cursor === null
            ? null
            : <ButtonLink href={auditHref({ ...address, cursor: null })}>Show newest</ButtonLink>}
          {nextCursor === null
            ? null
            : <ButtonLink href={auditHref({ ...address, cursor: nextCursor })}>Show older</ButtonLink>}
        </nav>
      )}
    </PortalPage>
  );
}

function Nothing({ address, csvHref }: AuditPageProps) {
  const isFiltered = auditHref({ ...address, cursor: null }) !== auditHref(wholeAuditLog);
  if (csvHref === null) {
    return <EmptyState title="Nothing to show" text="Correct what is marked above, then show it again." />;
  }
  if (!isFiltered) return <EmptyState title="No entries" text="There is nothing here from this time on." />;
  return (
    <EmptyState title="Nothing fits" text="No entry is of this kind, by this person, in these days.">
      <ButtonLink href={auditHref(wholeAuditLog)}>Show everything</ButtonLink>
    </EmptyState>
  );
}
