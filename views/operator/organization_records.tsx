// The console's pages of an organization's usage records.
import { voidReasonCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { TextField } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { RecordTable, type UsageRecordRow } from "../meter/record_table.tsx";
import { organizationHref } from "./links.ts";
import { organizationActionHref, organizationPlace } from "./organization.tsx";

interface Shown {
  readonly frame: PortalFrame;
  readonly organization: { readonly id: string; readonly name: string };
}

/** What the list shows. */
export interface OrganizationRecordsPageProps extends Shown {
  readonly records: readonly UsageRecordRow[];
  /** What was searched for; "" for all records. */
  readonly idempotencyKey: string;
  readonly nextHref: string | null;
  readonly flash: string | null;
}

/** @returns The records, newest first. */
export function organizationRecordsPage(props: OrganizationRecordsPageProps): Page {
  const { frame, organization: { id, name }, records, idempotencyKey, nextHref, flash } = props;
  return (
    <PortalPage title="Records" frame={frame} place={organizationPlace}>
      <PageHead
        back={{ href: organizationHref(id), label: "Organization" }}
        title="Records of “{name}”"
        name={name}
      />
      <Notice tone="done" text={flash} />
      <form class="filters" method="get" action={organizationActionHref(id, "records")} role="search">
        <div class="selects">
          <TextField
            type="search"
            label="Idempotency key"
            name="idempotencyKey"
            value={idempotencyKey}
            autocomplete="off"
            maxlength={255}
          />
          <div class="show">
            <SubmitButton tone="plain">Find</SubmitButton>
          </div>
        </div>
      </form>
      <Card title="Newest first" flush>
        {records.length === 0
          ? <EmptyState title="No records" text="Records appear here as soon as usage is recorded." />
          : (
            <RecordTable
              label="Records"
              records={records}
              now={frame.now}
              timezone="UTC"
              voidHref={(record) => voidRecordHref(id, record)}
            />
          )}
      </Card>
      <PageLinks links={[{ href: nextHref, label: "Older records" }]} />
    </PortalPage>
  );
}

/** What the page that voids a record shows. */
export interface VoidRecordPageProps extends Shown, FormErrors {
  readonly record: Omit<UsageRecordRow, "apiKey" | "voidedByName"> & {
    readonly idempotencyKey: string | null;
  };
  readonly reason: string;
}

/** @returns The page that asks why to void a record. */
export function voidRecordPage(props: VoidRecordPageProps): Page {
  const { frame, organization: { id, name }, record, reason, fields, message } = props;
  return (
    <ConfirmPage
      frame={frame}
      place={organizationPlace}
      title="Void record"
      heading="Void a record of “{name}”?"
      name={name}
      text="It no longer counts toward sums. If its month is closed, the next statement adjusts it. Members see the reason. This can't be undone."
      facts={[
        { label: "Quantity", value: `${groupDigits(record.quantity)} ${record.metric}` },
        { label: "Product", value: <code>{record.productSlug}</code> },
        { label: "Time", value: <MomentTime at={record.timestamp} now={frame.now} timezone="UTC" /> },
        { label: "Idempotency key", value: record.idempotencyKey ?? "None" },
      ]}
      action={voidRecordHref(id, record.id)}
      error={message}
      submit="Void record"
      back={{ href: organizationActionHref(id, "records"), label: "Records" }}
    >
      <TextField
        label="Reason"
        name="reason"
        value={reason}
        error={fields["reason"]}
        autocomplete="off"
        required
        maxlength={voidReasonCharactersMax}
      />
    </ConfirmPage>
  );
}

function voidRecordHref(organizationId: string, recordId: string): string {
  return `${organizationActionHref(organizationId, "records")}/${encodeURIComponent(recordId)}/void`;
}
