// The page that asks operators why to void a record.
import { voidReasonCharactersMax } from "../../domain/limits.ts";
import { type Catalogue, productOf } from "../../domain/meter/catalogue.ts";
import type { NamedUsageRecord } from "../../domain/meter/usage_record.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { TextField } from "../components/field.tsx";
import type { FormErrors } from "../components/form.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { recordHref } from "./record_table.tsx";
import { recordNoun } from "./records.tsx";

interface VoidRecordPageProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly record: NamedUsageRecord;
  readonly catalogue: Catalogue;
  readonly reason: string;
}

export function voidRecordPage(props: VoidRecordPageProps): Page {
  const { frame, record, catalogue, reason, fields, message } = props;
  return (
    <ConfirmPage
      frame={frame}
      place="usage"
      title="Void record"
      heading="Void this record?"
      text="It no longer counts toward sums. If its month is closed, the next statement adjusts it. Members see the reason. This can't be undone."
      facts={[
        { label: "Quantity", value: `${groupDigits(record.quantity)} ${recordNoun(record, catalogue)}` },
        { label: "Product", value: <bdi>{productOf(catalogue, record.productSlug).name}</bdi> },
        { label: "Time", value: <MomentTime at={record.timestamp} now={frame.now} timezone="UTC" /> },
        { label: "Idempotency key", value: record.idempotencyKey ?? "None" },
      ]}
      action={recordHref(frame.base, record.id, "void")}
      error={message}
      submit="Void record"
      back={{ href: recordHref(frame.base, record.id), label: "Record" }}
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
