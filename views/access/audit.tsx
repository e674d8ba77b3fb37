// The page of an organization's audit log.
import { auditRetentionMs } from "../../domain/limits.ts";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { ButtonLink } from "../components/button.tsx";
import { NothingListed } from "../components/filter_menu.tsx";
import { ListCard } from "../components/list_card.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import {
  type AuditFilterProps,
  AuditFilters,
  auditHref,
  ChosenAuditFilters,
  wholeAuditLog,
} from "./audit_filters.tsx";
import { type AuditRow, AuditTable } from "./audit_table.tsx";

interface AuditPageProps extends AuditFilterProps {
  readonly frame: PortalFrame;
  /** A page of entries, newest first. None if a field has an error. */
  readonly events: readonly AuditRow[];
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly nextCursor: string | null;
  /** The address of the file with all matching entries. Null if a field has an error. */
  readonly csvHref: string | null;
  readonly about?: { readonly name: string; readonly href: string } | undefined;
}

const retentionDays = auditRetentionMs / (24 * 3_600_000);

export function auditPage(props: AuditPageProps): Page {
  const { frame, path, address, events, nextCursor, csvHref, about } = props;
  return (
    <PortalPage title="Audit log" frame={frame} place={frame.isConsole ? "operator/audit" : "audit"}>
      <PageHead
        title="Audit log"
        text={`${aboutLog(props)} Entries are kept for ${retentionDays} days.`}
        keepsActions
      >
        {csvHref && <ButtonLink href={csvHref} isFile>Download CSV</ButtonLink>}
      </PageHead>
      {about && (
        <p class="small">
          {"About the key "}
          <a href={about.href}>
            <bdi>{about.name}</bdi>
          </a>
          {" · "}
          <a href={auditHref({ ...address, targetId: null, cursor: null }, path)}>Show all entries</a>
        </p>
      )}
      <ListCard
        label="Entries"
        tabs={<h2>{address.cursor === null ? "Newest first" : "Older entries"}</h2>}
        tools={<AuditFilters {...props} />}
      >
        <ChosenAuditFilters {...props} />
        {events.length === 0 ? <Nothing {...props} /> : <AuditTable {...props} />}
      </ListCard>
      <PageLinks
        links={[
          { href: address.cursor && auditHref({ ...address, cursor: null }, path), label: "Newest entries" },
          { href: nextCursor && auditHref({ ...address, cursor: nextCursor }, path), label: "Older entries" },
        ]}
      />
    </PortalPage>
  );
}

function aboutLog({ frame, address }: AuditPageProps): string {
  if (!frame.isConsole || frame.viewed !== null) {
    return "Who did what in this organization, and which requests were denied.";
  }
  return address.organizationId === null
    ? "What operators and their tokens did, in all organizations."
    : "Who did what in this organization, members and operators.";
}

function Nothing({ path, address, errors }: AuditPageProps) {
  const clearHref = auditHref(wholeAuditLog, path);
  return (
    <NothingListed
      what="entries"
      hasErrors={Object.keys(errors).length > 0}
      isFiltered={auditHref({ ...address, cursor: null }, path) !== clearHref}
      text="No older entries."
      clearHref={clearHref}
    />
  );
}
