// The page of one usage record, and the page where operators void it.
import { voidReasonCharactersMax } from "../../domain/limits.ts";
import { type Catalogue, catalogueOf, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import type { NamedUsageRecord } from "../../domain/meter/usage_record.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import type { Access } from "../../services/access/mod.ts";
import { readUsage, readUsageRecord, voidUsageRecord } from "../../services/meter/mod.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { TestBadge } from "../../views/components/environment.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { TextField } from "../../views/components/field.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { organizationsHref, recordHref } from "../../views/components/links.ts";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { MomentTime } from "../../views/components/relative_time.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { RecordKey } from "../../views/meter/record_table.tsx";
import { type RecordsAddress, recordsHref } from "../../views/meter/records.tsx";
import { measureNoun, thingsOf } from "../../views/text/quantity.ts";
import { exactTimeIn, zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { mountFormPage } from "../portal/noun_pages.ts";
import { type ConsoleActor, operatorForms } from "../portal/operator_page.ts";
import { filteredRoutes, type PortalParts, sendPage } from "../portal/page.ts";
import { nounPagesOf, type OperatorViewer, operatorViewer, organizationPages } from "../portal/viewer.ts";
import { check } from "../schemas/check.ts";
import { voidUsageSchema } from "./schemas/usage.ts";

const path = "/usage/records";

/** Mounts the page of a record, and the one where operators void it. */
export function usageRecordPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = organizationPages(app, parts);
  const catalogueOr = async (access: Access) =>
    await inTime((signal) => readUsage(services, access, { job: "findCatalogue", query: {}, signal })) ??
      catalogueOf({ products: [], used: [] });
  const recordOf = (c: AppContext, access: Access) =>
    readUsageRecord(services, access, c.req.param("recordId") ?? "");

  get(`${path}/:recordId`, async (c, { access, frame }) => {
    const page = recordPage({
      frame,
      record: await recordOf(c, access),
      catalogue: await catalogueOr(access),
      timezone: presentation().timezone,
      flash: flashOf(c, { voided: "Record voided." }),
    });
    return await sendPage(c, page);
  });

  const forms = filteredRoutes<ConsoleActor, OperatorViewer>(
    operatorForms(app, parts),
    (handler) => async (c, actor) => await handler(c, await operatorViewer(c, parts, actor)),
    `${organizationsHref}/:id`,
  );
  const backOf = ({ base }: PortalFrame) => ({ href: base + path, label: "Records" });
  mountFormPage(nounPagesOf(forms, { place: "usage", backOf }), {
    path: `${path}/:recordId/void`,
    show: async (c, form, { access }) =>
      voidForm(form, { record: await recordOf(c, access), catalogue: await catalogueOr(access) }),
    async submit(c, { access, frame }, { reason = "" }) {
      const { id } = await recordOf(c, access);
      const input = check(voidUsageSchema, { reason }, "body");
      await voidUsageRecord(services, access, { id, ...input, signal: c.req.raw.signal });
      return `${recordHref(frame.base, id)}?done=voided`;
    },
  });
}

interface RecordPageProps {
  readonly frame: PortalFrame;
  readonly record: NamedUsageRecord;
  readonly catalogue: Catalogue;
  /** The time zone of times, an IANA name. */
  readonly timezone: string;
  readonly flash: string | null;
}

function recordPage(props: RecordPageProps) {
  const { frame, record, catalogue, timezone, flash } = props;
  const { apiKeyName: _name, apiKeyCreatedBy: _createdBy, voidedByName, ...json } = record;
  const { id, voidedAt, voidReason } = record;
  const properties = Object.entries(record.properties ?? {});
  return (
    <PortalPage title="Record" frame={frame} place="usage">
      <PageHead
        back={{ href: recordsHref(frame.base), label: "Records" }}
        title={`${groupDigits(record.quantity)} {name}`}
        name={recordNoun(record, catalogue)}
      >
        <TestBadge {...record} />
        {voidedAt === null ? <Badge tone="on">Counted</Badge> : <Badge tone="off">Voided</Badge>}
        {frame.viewed !== null && voidedAt === null && (
          <ButtonLink tone="plain-destroy" href={recordHref(frame.base, id, "void")}>Void record</ButtonLink>
        )}
      </PageHead>
      <Notice tone="done" text={flash} />
      {voidedAt !== null && (
        <div class="note plain">
          <p>
            Voided on {exactTimeIn(Date.parse(voidedAt), timezone)} by{" "}
            {voidedByName === null ? "the operator" : <bdi>{voidedByName}</bdi>}. It doesn't count toward
            totals. Reason: <bdi class="name whole">{voidReason}</bdi>
          </p>
        </div>
      )}
      <Card title="Details" flush>
        <Details {...props} />
      </Card>
      <Card title="Properties" flush={properties.length > 0}>
        {properties.length === 0 ? <p class="muted small">This record has no properties.</p> : (
          <Facts
            facts={properties.map(([name, value]) => ({
              label: <bdi>{name}</bdi>,
              value: <bdi class="pick whole">{value}</bdi>,
            }))}
          />
        )}
      </Card>
      <CodeExample
        id="record-json"
        title="The record"
        label="JSON, as in the API"
        samples={[{ language: "json", code: JSON.stringify(json, null, 2) }]}
      />
    </PortalPage>
  );
}

/** Returns the name of what a record counts, such as `GB of storage`. */
function recordNoun({ metric, quantity }: NamedUsageRecord, catalogue: Catalogue): string {
  const measure = metricOf(catalogue, metric);
  const [number, noun] = [groupDigits(quantity), measureNoun(measure)];
  return measure.unit === null ? thingsOf(number, noun) : `${thingsOf(number, measure.unit)} of ${noun}`;
}

function Details({ record, frame, catalogue, timezone }: RecordPageProps) {
  const { productSlug, metric, quantity, idempotencyKey } = record;
  const { name, unit } = metricOf(catalogue, metric);
  const moment = (at: string) => <MomentTime at={at} now={frame.now} timezone={timezone} />;
  const filter = (label: string, more: Partial<RecordsAddress>) => (
    <a
      href={recordsHref(frame.base, { ...more, environment: record.environment === "test" ? "test" : null })}
    >
      <bdi>{label}</bdi>
    </a>
  );
  return (
    <Facts
      facts={[
        { label: "Product", value: filter(productOf(catalogue, productSlug).name, { productSlug }) },
        { label: "Metric", value: filter(name, { metric }) },
        {
          label: "Quantity",
          value: unit === null ? groupDigits(quantity) : `${groupDigits(quantity)} ${unit}`,
        },
        { label: "API key", value: <RecordKey record={record} frame={frame} /> },
        { label: `Time, ${zoneWords(timezone)}`, value: moment(record.timestamp) },
        { label: `Recorded, ${zoneWords(timezone)}`, value: moment(record.recordedAt) },
        {
          label: "Idempotency key",
          value: idempotencyKey === null ? "None" : <code class="pick">{idempotencyKey}</code>,
        },
        { label: "ID", value: <code class="pick">{record.id}</code> },
      ]}
    />
  );
}

function voidForm(
  { field, ...form }: PageForm,
  { record, catalogue }: { readonly record: NamedUsageRecord; readonly catalogue: Catalogue },
) {
  const { base, now } = form.frame;
  return (
    <ConfirmPage
      {...form}
      title="Void record"
      heading="Void this record?"
      text="It no longer counts toward sums. If its month is closed, the next statement adjusts it. Members see the reason. This can't be undone."
      facts={[
        { label: "Quantity", value: `${groupDigits(record.quantity)} ${recordNoun(record, catalogue)}` },
        { label: "Product", value: <bdi>{productOf(catalogue, record.productSlug).name}</bdi> },
        { label: "Time", value: <MomentTime at={record.timestamp} now={now} /> },
        { label: "Idempotency key", value: record.idempotencyKey ?? "None" },
      ]}
      back={{ href: recordHref(base, record.id), label: "Record" }}
    >
      <TextField label="Reason" {...field("reason")} required maxlength={voidReasonCharactersMax} />
    </ConfirmPage>
  );
}
