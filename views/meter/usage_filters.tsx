// The filters of an explorer: links, chips, and forms in menus. The address of the page has all of them.
import {
  type ReportComparison,
  reportComparisons,
  type ReportRange,
  reportRanges,
} from "../../domain/meter/usage_period.ts";
import type { WindowUnit } from "../../domain/meter/usage_window.ts";
import { unitNames, unitWords } from "../text/quantity.ts";
import { outcomeWords } from "../text/outcome.ts";
import { zoneWords } from "../text/zone.ts";
import type { Choice, ChoiceGroup } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { Menu, MenuLinks, Switch } from "../components/menu.tsx";
import {
  filteredHref,
  type PropertyName,
  propertyTitle,
  type UsageAddress,
  usageHref,
} from "./usage_address.ts";
import {
  DaysForm,
  FilterForm,
  type FilterSelect,
  Select,
  TextField,
  type UsageFaults,
} from "./usage_filter_forms.tsx";

interface UsageChoices {
  readonly products: readonly Choice[];
  /** Metrics that have no link above the chart. */
  readonly metrics: readonly Choice[];
  /** The organization's API keys; null for all organizations; undefined on the page of a key. */
  readonly apiKeys: readonly Choice[] | null | undefined;
  /** Set in the console only. */
  readonly plans?: readonly Choice[];
  /** Values of properties of the metric. */
  readonly properties: readonly { readonly name: PropertyName; readonly values: readonly Choice[] }[];
  /** IANA names. */
  readonly timezones: readonly string[];
  /** Lengths of windows that don't make too many bars. */
  readonly units: readonly WindowUnit[];
}

export interface UsageFilterProps {
  readonly address: UsageAddress;
  /** The range in words, such as `November 1–22`; null if it is invalid. */
  readonly rangeWords: string | null;
  /** The time to compare with, such as `Oct 1–22`; null if the range is invalid. */
  readonly comparedWords: string | null;
  /** The length of the windows, the time zone and the metric on the page. */
  readonly unit: WindowUnit;
  readonly timezone: string;
  readonly metric: string | null;
  readonly choices: UsageChoices;
  readonly faults: UsageFaults;
  /** Null outside the console. */
  readonly organization: OrganizationFilter | null;
}

export interface OrganizationFilter {
  /** The name of the chosen one; null for all. */
  readonly name: string | null;
  /** The text that was searched for, and several organizations that it found; null without any. */
  readonly search: { readonly text: string; readonly found: readonly Choice[] } | null;
}

const comparisonNames: Readonly<Record<ReportComparison, string>> = {
  "previous": "Previous period",
  "last-month": "A month earlier",
  "last-year": "A year earlier",
  "custom": "Custom days",
};

const rangeNames: Readonly<Record<ReportRange, string>> = {
  "today": "Today",
  "24h": "24 hours",
  "7d": "7 days",
  "month": "This month",
  "last-month": "Last month",
  "30d": "30 days",
  "90d": "90 days",
  "custom": "Custom range",
};

const shortRanges = [
  ["today", "Today"],
  ["24h", "24 h"],
  ["7d", "7 days"],
  ["month", "Month"],
  ["90d", "90 days"],
] as const;

export function UsageFilterBar(props: UsageFilterProps) {
  const { address, organization, faults, choices, unit, timezone } = props;
  const selects = selectsOf(props);
  return (
    <>
      <div class="filter-bar">
        <RangeFilters {...props} />
        {chipsOf(props, selects).map(({ title, value, href }) => (
          <a class="chip" href={href} aria-label={`Remove the filter ${title}: ${value}`}>
            <span class="muted">{title}</span> <bdi class="cut">{value}</bdi>
            <Icon name="cross" />
          </a>
        ))}
        <Menu class="add" label="Filter" icon="plus">
          <FilterForm address={address} omit={selects.map(({ name }) => name)}>
            {organization?.name === null && <TextField label="Organization name or ID" name="organization" />}
            {selects.map((select) => <Select {...select} faults={faults} />)}
            {choices.apiKeys === null && <TextField label="Key ID" name="apiKey" />}
          </FilterForm>
        </Menu>
        <Menu
          class="quiet"
          label="Step and time zone"
          value={`By ${unitWords(unit)} · ${zoneWords(timezone)}`}
          isValueAlone
          isAtEnd
        >
          <FilterForm address={address} omit={["window", "timezone"]}>
            <Select
              title="Step"
              name="window"
              value={unit}
              choices={choices.units.map((value) => ({ value, label: unitNames[value] }))}
              faults={faults}
            />
            {/* The list of time zones is long, so the page has it once. */}
            <Select
              title="Time zone"
              name="timezone"
              value={timezone}
              choices={timezoneChoices(choices.timezones, timezone)}
              faults={faults}
            />
          </FilterForm>
        </Menu>
      </div>
      {organization?.search && <FoundOrganizations address={address} {...organization.search} />}
      {Object.entries(faults).map(([name, fault]) => (
        <p class="field-error" id={`${name}-error`}>
          <Icon name="alert" />
          <span>{fault}</span>
        </p>
      ))}
    </>
  );
}

/** The range, and the time to compare it with. */
function RangeFilters(props: UsageFilterProps) {
  const { address, rangeWords, comparedWords } = props;
  const { range, compare } = address;
  const rangeHref = (range: ReportRange) => usageHref({ ...address, range, window: null, page: null });
  return (
    <>
      <Switch
        label="Range"
        choices={shortRanges.map(([one, label]) => ({
          href: rangeHref(one),
          label,
          isCurrent: one === range,
        }))}
      />
      <Menu label="Days" value={rangeWords ?? rangeNames[range]} isValueAlone>
        <MenuLinks
          choices={reportRanges.filter((one) => one !== "custom").map((one) => ({
            href: rangeHref(one),
            label: rangeNames[one],
            isCurrent: one === range,
          }))}
        />
        <hr />
        <p class="label">{rangeNames.custom}</p>
        <DaysForm {...props} of="range" />
      </Menu>
      <Menu label="Compare with" value={`vs ${comparedWords ?? comparisonNames[compare]}`} isValueAlone>
        <MenuLinks
          choices={reportComparisons.filter((one) => one !== "custom" || compare === one).map((one) => ({
            href: usageHref({ ...address, compare: one, page: null }),
            label: comparisonNames[one],
            isCurrent: one === compare,
          }))}
        />
        <hr />
        <p class="label">{comparisonNames.custom}</p>
        <DaysForm {...props} of="comparison" />
      </Menu>
    </>
  );
}

/** Returns the filters that are set, with the page without them. */
function chipsOf({ address, organization }: UsageFilterProps, selects: readonly FilterSelect[]) {
  const chosen = selects.filter(({ name }) => name !== "metric" && address.filters[name as PropertyName])
    .map(({ title, name, value, choices }) => ({
      title,
      value: choices.flatMap((one) => "value" in one && one.value === value ? [one.label] : [])[0] ?? value,
      href: filteredHref(address, { [name]: null }),
    }));
  const { name = null } = organization ?? {};
  const { outcome } = address.filters;
  return [
    ...(name === null ? [] : [{
      title: "Organization",
      value: name,
      href: filteredHref(address, { organizationId: null, apiKey: null }),
    }]),
    ...chosen,
    ...(outcome
      ? [{ title: "Outcome", value: outcomeWords[outcome], href: filteredHref(address, { outcome: null }) }]
      : []),
  ];
}

/** Returns the selects of the filters. */
function selectsOf({ address: { filters }, metric, choices }: UsageFilterProps): FilterSelect[] {
  const select = (
    title: string,
    name: FilterSelect["name"],
    { all, value = filters[name as PropertyName] ?? null, choices }: {
      all: string | null;
      value?: string | null;
      choices: readonly Choice[];
    },
  ): FilterSelect => ({ title, name, value: value ?? "", choices: withAll(all, value, choices) });
  const { plans, products, metrics, apiKeys, properties } = choices;
  return [
    ...(plans === undefined ? [] : [select("Plan", "planId", { all: "All plans", choices: plans })]),
    select("Product", "productSlug", { all: "All products", choices: products }),
    ...(metrics.length === 0
      ? []
      : [select("Metric", "metric", { all: null, value: metric, choices: metrics })]),
    ...(apiKeys ? [select("Key", "apiKey", { all: "All keys", choices: apiKeys })] : []),
    ...properties.map(({ name, values }) =>
      select(propertyTitle(name), name, { all: "All values", choices: values })
    ),
  ];
}

function FoundOrganizations(
  { address, text, found }: { address: UsageAddress; text: string; found: readonly Choice[] },
) {
  const title = `Organizations that match “${text}”`;
  return (
    <nav class="card matches" aria-label={title}>
      <p class="label">{title}</p>
      <MenuLinks
        choices={found.map(({ value, label }) => ({
          href: filteredHref(address, { organizationId: value, apiKey: null }),
          label,
          isCurrent: false,
        }))}
      />
    </nav>
  );
}

function named(name: string): Choice {
  return { value: name, label: name };
}

/** Adds no filter and an unknown value to choices. @param all The label of no filter; null if the filter is required. */
export function withAll(all: string | null, value: string | null, choices: readonly Choice[]): Choice[] {
  const isKnown = value === null || choices.some((choice) => choice.value === value);
  return [
    ...(all === null ? [] : [{ value: "", label: all }]),
    ...choices,
    ...(isKnown ? [] : [named(value)]),
  ];
}

/** Returns time zones to choose from: UTC first, then by continent, so that typing the name of a city finds it. */
export function timezoneChoices(timezones: readonly string[], value: string): (Choice | ChoiceGroup)[] {
  const groups = Map.groupBy(timezones, (timezone) => timezone.split("/", 1)[0] ?? "");
  return [
    named("UTC"),
    ...(value === "UTC" || timezones.includes(value) ? [] : [{ value, label: zoneWords(value) }]),
    ...[...groups].map(([label, timezones]) => ({
      label,
      choices: timezones.map((value) => ({ value, label: zoneWords(value.slice(label.length + 1)) })),
    })),
  ];
}
