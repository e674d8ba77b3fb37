// The page of all usage records, with filters. Any address shows a page.
import { environments } from "../../domain/environment.ts";
import { isId } from "../../domain/id.ts";
import {
  pageItemsDefault,
  usagePropertyNameCharactersMax,
  usagePropertyValueCharactersMax,
} from "../../domain/limits.ts";
import { metricOf, productOf } from "../../domain/meter/catalogue.ts";
import { dimensionPropertyForm } from "../../domain/meter/dimension.ts";
import { idempotencyKeyForm, slugForm } from "../../domain/meter/usage_record.ts";
import { presentation } from "../../domain/presentation.ts";
import { timezoneName } from "../../domain/time.ts";
import { viewUsageRecords } from "../../services/meter/mod.ts";
import { EnvironmentSwitch, TestNotice } from "../../views/components/environment.tsx";
import { SelectField, TextField } from "../../views/components/field.tsx";
import { ChosenFilters, FilterMenu, NothingListed } from "../../views/components/filter_menu.tsx";
import { ListCard, SearchBox, Tabs } from "../../views/components/list_card.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PageLinks } from "../../views/components/page_links.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { RecordTable } from "../../views/meter/record_table.tsx";
import { type RecordsAddress, recordsHref, type RecordsPosition } from "../../views/meter/records.tsx";
import { withAll } from "../../views/meter/usage_filters.tsx";
import { zoneWords } from "../../views/text/zone.ts";
import type { App, AppContext } from "../env.ts";
import { usageRecordPages } from "./usage_record.tsx";
import { dayRange } from "../portal/day_range.ts";
import type { Viewer } from "../portal/form.ts";
import { type PortalParts, sendPage } from "../portal/page.ts";
import { organizationPages } from "../portal/viewer.ts";

const path = "/usage/records";
/** A name, an equals sign and a value. */
const recordPropertyCharactersMax = usagePropertyNameCharactersMax + 1 +
  usagePropertyValueCharactersMax;

/** Mounts `/portal/usage/records`, the same for operators, and the page where operators void a record. */
export function recordPages(app: App, parts: PortalParts): void {
  const { get } = organizationPages(app, parts);
  get(path, async (c, viewer) => await sendPage(c, recordsPage(await readRecords(c, parts, viewer))));
  usageRecordPages(app, parts);
}

async function readRecords(c: AppContext, { services }: PortalParts, { access, frame }: Viewer) {
  const address = addressOf(c);
  const { productSlug, metric, apiKey } = address;
  const timezone = address.timezone ?? presentation().timezone;
  const { errors: dayErrors, ...days } = dayRange(address, timezone);
  const property = propertyOf(address.property);
  const errors: Partial<Record<"from" | "to" | "property", string>> = {
    ...dayErrors,
    ...typeof property === "string" && { property },
  };
  const hasErrors = Object.keys(errors).length > 0;
  const { choices, catalogue, environment, usageRecords, ...pages } = await viewUsageRecords(
    services,
    access,
    {
      query: {
        ...{ productSlug: onlyOf(productSlug), metric: onlyOf(metric), apiKey: onlyOf(apiKey) },
        environment: address.environment ?? undefined,
        status: address.status ?? undefined,
        idempotencyKey: address.search ?? undefined,
        properties: typeof property === "string" ? undefined : property,
        ...days,
        cursor: c.req.query("cursor") || undefined,
        newerThan: c.req.query("newerThan") || undefined,
        limit: pageItemsDefault,
      },
      signal: c.req.raw.signal,
    },
  );
  return {
    frame,
    address,
    environment,
    timezone,
    choices,
    catalogue,
    errors,
    /** Null if a field has an error. */
    records: hasErrors ? null : usageRecords,
    ...(hasErrors ? { nextCursor: null, previousCursor: null } : pages),
  };
}

type Records = Awaited<ReturnType<typeof readRecords>>;

function onlyOf(value: string | null): [string] | undefined {
  return value === null ? undefined : [value];
}

/** Parses a filter such as `region=eu`. Returns an error message for an invalid one. */
function propertyOf(text: string | null): Record<string, [string]> | string | undefined {
  if (text === null) return undefined;
  const [, name, value] = /^([^=]*)=(.*)$/su.exec(text) ?? [];
  return name === undefined || value === undefined || !dimensionPropertyForm.test(name)
    ? "Enter a name and a value, such as region=eu."
    : { [name]: [value] };
}

/** Returns the choices of the address; null for those without a valid form. */
function addressOf(c: AppContext): RecordsAddress {
  const given = (name: string) => c.req.query(name)?.trim() || null;
  const valid = (name: string, isValid: (text: string) => boolean) => {
    const text = given(name);
    return text !== null && isValid(text) ? text : null;
  };
  const timezone = given("timezone");
  const environment = environments.find((one) => one === given("environment")) ?? null;
  const status = given("status");
  return {
    status: status === "counted" || status === "voided" ? status : null,
    productSlug: valid("productSlug", (text) => slugForm.test(text)),
    metric: valid("metric", (text) => slugForm.test(text)),
    apiKey: valid("apiKey", (text) => isId("key", text)),
    environment,
    search: valid("search", (text) => idempotencyKeyForm.test(text)),
    property: given("property"),
    from: given("from"),
    to: given("to"),
    timezone: timezone === null ? null : timezoneName(timezone),
  };
}

function recordsPage(props: Records) {
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

function Filters({ frame, address, timezone, choices, catalogue, errors }: Records) {
  const { productSlug, metric, apiKey, status, search, environment } = address;
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
      kept={{ status, search, timezone: address.timezone, environment }}
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

function Chosen({ frame, address, choices, catalogue }: Records) {
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

function Nothing({ frame, address, records }: Records) {
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
