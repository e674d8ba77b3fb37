// The page of all usage records, with filters, and the page of one of them.
import {
  usagePropertyNameCharactersMax,
  usagePropertyValueCharactersMax,
  voidReasonCharactersMax,
} from "../../domain/limits.ts";
import type { Environment } from "../../domain/environment.ts";
import { type Catalogue, metricOf, productOf } from "../../domain/meter/catalogue.ts";
import type { NamedUsageRecord } from "../../domain/meter/usage_record.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { CodeExample } from "../components/code_example.tsx";
import { EnvironmentSwitch, TestBadge, TestNotice } from "../components/environment.tsx";
import { Facts } from "../components/facts.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { ChosenFilters, type DayBounds, FilterMenu, NothingListed } from "../components/filter_menu.tsx";
import type { PageForm } from "../components/form_page.tsx";
import { ListCard, SearchBox, Tabs } from "../components/list_card.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { listHref } from "../components/list_filters.tsx";
import { measureNoun } from "../text/quantity.ts";
import { exactTimeIn, zoneWords } from "../text/zone.ts";
import { RecordKey, RecordTable } from "./record_table.tsx";
import { recordHref } from "../components/links.ts";
import { withAll } from "./usage_filters.tsx";
import { ConfirmPage } from "../components/confirm_page.tsx";

/** The choices in the page's address. Null: everything. */
export interface RecordsAddress extends DayBounds {
  readonly status: "counted" | "voided" | null;
  readonly productSlug: string | null;
  readonly metric: string | null;
  /** A key's id. */
  readonly apiKey: string | null;
  /** Null: that of the key; live without one. */
  readonly environment: Environment | null;
  /** An idempotency key. */
  readonly search: string | null;
  /** The value of a property, such as `region=eu`. */
  readonly property: string | null;
  /** An IANA name; null for the default. */
  readonly timezone: string | null;
}

/** A name, an equals sign and a value. */
export const recordPropertyCharactersMax = usagePropertyNameCharactersMax + 1 +
  usagePropertyValueCharactersMax;

interface RecordsPosition {
  readonly cursor?: string;
  readonly newerThan?: string;
}

/** Returns the page's address. @param base As in `PortalFrame`. */
export function recordsHref(
  base: string,
  address: Partial<RecordsAddress> = {},
  position: RecordsPosition = {},
): string {
  return listHref(`${base}/usage/records`, { ...address, ...position });
}

interface RecordsPageProps {
  readonly frame: PortalFrame;
  readonly address: RecordsAddress;
  /** The environment of the records. */
  readonly environment: Environment;
  /** The time zone of times and days, an IANA name. */
  readonly timezone: string;
  readonly choices: {
    readonly products: readonly string[];
    readonly metrics: readonly string[];
    readonly apiKeys: readonly { readonly id: string; readonly name: string }[];
  };
  readonly catalogue: Catalogue;
  /** One sentence for each invalid field. */
  readonly errors: { readonly from?: string; readonly to?: string; readonly property?: string };
  /** Newest first. Null if a field has an error. */
  readonly records: readonly NamedUsageRecord[] | null;
  readonly nextCursor: string | null;
  readonly previousCursor: string | null;
}

export function recordsPage(props: RecordsPageProps): Page {
  const { frame, address, environment, timezone, records } = props;
  const ofEnvironment = (environment: "test" | null) =>
    recordsHref(frame.base, { ...address, environment, apiKey: null });
  const hrefOf = (changed: Partial<RecordsAddress>, position?: RecordsPosition) =>
    recordsHref(frame.base, { ...address, ...changed }, position);
  const tabs = ([[null, "All"], ["counted", "Counted"], ["voided", "Voided"]] as const).map((
    [status, label],
  ) => ({
    href: hrefOf({ status }),
    label,
    count: null,
    isCurrent: address.status === status,
  }));
  return (
    <PortalPage title="Records" frame={frame} place="usage">
      <PageHead
        back={{ href: `${frame.base}/usage`, label: "Usage" }}
        title="Records"
        text="Everything that was recorded, newest first. Voided records don't count toward totals."
        keepsActions
      >
        <EnvironmentSwitch chosen={environment} hrefOf={ofEnvironment} />
      </PageHead>
      <TestNotice chosen={environment} liveHref={ofEnvironment(null)} />
      <ListCard
        label="Records"
        tabs={<Tabs label="Status" tabs={tabs} />}
        tools={
          <>
            <SearchBox
              action={recordsHref(frame.base)}
              search={address.search ?? ""}
              searches="idempotency key"
              hidden={{ ...address, search: null }}
            />
            <Filters {...props} />
          </>
        }
      >
        <Chosen {...props} />
        {records === null || records.length === 0 ? <Nothing {...props} /> : (
          <RecordTable
            label="Records"
            records={records}
            frame={frame}
            timezone={timezone}
            catalogue={props.catalogue}
          />
        )}
      </ListCard>
      <PageLinks
        links={[
          {
            href: props.previousCursor && hrefOf({}, { newerThan: props.previousCursor }),
            label: "Newer records",
          },
          {
            href: props.nextCursor && hrefOf({}, { cursor: props.nextCursor }),
            label: "Older records",
          },
        ]}
      />
    </PortalPage>
  );
}

function Filters({ frame, address, timezone, choices, catalogue, errors }: RecordsPageProps) {
  const { productSlug, metric, apiKey } = address;
  const keys = choices.apiKeys.map(({ id, name }) => ({ value: id, label: name }));
  const selects = [
    {
      label: "Product",
      name: "productSlug",
      value: productSlug,
      all: "All products",
      choices: choices.products.map((slug) => ({ value: slug, label: productOf(catalogue, slug).name })),
    },
    {
      label: "Metric",
      name: "metric",
      value: metric,
      all: "All metrics",
      choices: choices.metrics.map((slug) => ({ value: slug, label: metricOf(catalogue, slug).name })),
    },
    { label: "API key", name: "apiKey", value: apiKey, all: "All keys", choices: keys },
  ] as const;
  return (
    <FilterMenu
      path={recordsHref(frame.base)}
      kept={{
        status: address.status,
        search: address.search,
        timezone: address.timezone,
        environment: address.environment,
      }}
      days={address}
      labels={{ from: `From, ${zoneWords(timezone)}`, to: "To" }}
      errors={errors}
    >
      {selects.map(({ label, name, value, all, choices }) => (
        <SelectField
          label={label}
          name={name}
          value={value ?? ""}
          choices={withAll(all, value, choices)}
        />
      ))}
      <TextField
        label="Property"
        name="property"
        value={address.property ?? ""}
        error={errors.property}
        placeholder="For example: region=eu"
        autocomplete="off"
        maxlength={recordPropertyCharactersMax}
      />
    </FilterMenu>
  );
}

function Chosen({ frame, address, choices, catalogue }: RecordsPageProps) {
  const { productSlug, metric, apiKey, search, property, timezone, status, environment } = address;
  const key = choices.apiKeys.find(({ id }) => id === apiKey)?.name ?? apiKey;
  return (
    <ChosenFilters
      words={[
        search === null ? null : `Idempotency key ${search}`,
        productSlug && productOf(catalogue, productSlug).name,
        metric && metricOf(catalogue, metric).name,
        key,
        property,
      ]}
      days={address}
      clearHref={recordsHref(frame.base, { timezone, status, environment })}
    />
  );
}

function Nothing({ frame, address, records }: RecordsPageProps) {
  const clearHref = recordsHref(frame.base, { timezone: address.timezone, environment: address.environment });
  return (
    <NothingListed
      what="records"
      hasErrors={records === null}
      isFiltered={recordsHref(frame.base, address) !== clearHref}
      text="Records appear here as soon as usage is recorded."
      clearHref={clearHref}
    />
  );
}

interface RecordPageProps {
  readonly frame: PortalFrame;
  readonly record: NamedUsageRecord;
  readonly catalogue: Catalogue;
  /** The time zone of times, an IANA name. */
  readonly timezone: string;
  readonly flash: string | null;
}

export function recordPage(props: RecordPageProps): Page {
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

/** Returns what was used, such as `GB of storage`. */
function recordNoun({ metric }: NamedUsageRecord, catalogue: Catalogue): string {
  const measure = metricOf(catalogue, metric);
  const noun = measureNoun(measure);
  return measure.unit === null ? noun : `${measure.unit} of ${noun}`;
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

export function voidRecordPage(
  { field, ...form }: PageForm,
  { record, catalogue }: { readonly record: NamedUsageRecord; readonly catalogue: Catalogue },
): Page {
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
      submit="Void record"
      back={{ href: recordHref(base, record.id), label: "Record" }}
    >
      <TextField label="Reason" {...field("reason")} required maxlength={voidReasonCharactersMax} />
    </ConfirmPage>
  );
}
