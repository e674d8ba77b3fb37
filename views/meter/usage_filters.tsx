// The filters of the usage page: links, and forms for filters with too many choices. The address of the page has all of them.
import {
  type ReportComparison,
  reportComparisons,
  type ReportRange,
  reportRanges,
} from "../../domain/meter/usage_period.ts";
import { type WindowUnit, windowUnits } from "../../domain/meter/usage_window.ts";
import { zoneWords } from "../text/zone.ts";
import { unitNames } from "../components/chart.tsx";
import type { Choice, ChoiceGroup } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { FilterBar, Menu, MenuLinks, Switch } from "../components/menu.tsx";
import { firstPages, type PropertyName, type UsageAddress, usageHref } from "./usage_address.ts";
import {
  ChoiceMenu,
  DaysForm,
  FilterForm,
  type FilterSelect,
  Select,
  TextField,
  type UsageFaults,
} from "./usage_filter_forms.tsx";
import { FoundOrganizations, type OrganizationFilter, OrganizationMenu } from "./usage_organizations.tsx";

interface UsageChoices {
  readonly products: readonly Choice[];
  /** Metrics that have no link above the chart. */
  readonly metrics: readonly Choice[];
  /** The organization's API keys; null for all organizations. */
  readonly apiKeys: readonly Choice[] | null;
  /** Set in the console only. */
  readonly plans?: readonly Choice[];
  /** Values of properties of the metric. */
  readonly properties?: readonly { readonly name: PropertyName; readonly values: readonly Choice[] }[];
  /** IANA names. */
  readonly timezones: readonly string[];
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

const comparisonNames: Readonly<Record<ReportComparison, string>> = {
  "previous": "Previous period",
  "last-month": "A month earlier",
  "last-year": "A year earlier",
  "custom": "Custom days",
};

const rangeNames: Readonly<Record<ReportRange, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "month": "This month",
  "last-month": "Last month",
  "30d": "30 days",
  "90d": "90 days",
  "custom": "Custom range",
};

const shortRanges = [["24h", "24 h"], ["7d", "7 days"], ["month", "Month"], ["90d", "90 days"]] as const;

/** The filters. On a phone, all but the usual ranges are in one menu. In the console, those of what was used have a line of their own. */
export function UsageFilterBar(props: UsageFilterProps) {
  const { address, organization, faults } = props;
  const { timezone, interval, filters } = selectsOf(props);
  const comparison = comparisonSelect(props);
  const selects = [...filters, interval, comparison];
  const scope = <ScopeFilters {...props} filters={filters} interval={interval} />;
  return (
    <>
      <FilterBar start={<RangeFilters {...props} comparison={comparison} />}>
        {organization === null && scope}
        <Menu
          class="folded"
          label={timezone.title}
          value={timezone.shown}
          foldedLabel="Filters"
          isAtEnd
        >
          <div class="in-fold">
            <DaysForm {...props} of="range" place="folded" />
            <hr />
          </div>
          {/* The list of time zones is long, so the page has it once. */}
          <FilterForm {...props} omit={[timezone, ...selects].map(({ name }) => name)}>
            <div class="in-fold">
              {organization && (
                <TextField label="Organization name or ID" name="organization" place="folded" />
              )}
              {selects.map((select) => <Select {...select} place="folded" />)}
            </div>
            <Select {...timezone} place="menu" />
          </FilterForm>
          <div class="in-fold">
            <hr />
            <p class="label">Compare with custom days</p>
            <DaysForm {...props} of="comparison" place="folded" />
          </div>
        </Menu>
      </FilterBar>
      {organization && <FilterBar start={scope}>{null}</FilterBar>}
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

/** The filters of what was used, and by whom, and the length of windows. */
function ScopeFilters({ filters, interval, ...props }: UsageFilterProps & {
  filters: readonly FilterSelect[];
  interval: FilterSelect;
}) {
  const { address, organization, choices } = props;
  const menu = (select: FilterSelect) => (
    <Menu label={select.title} value={select.shown} isAtEnd={organization === null}>
      <ChoiceMenu {...props} select={select} />
    </Menu>
  );
  return (
    <>
      {organization && (
        <Menu label="Organization" value={organization.name ?? "All"}>
          <OrganizationMenu address={address} organization={organization} />
        </Menu>
      )}
      {filters.map(menu)}
      {choices.apiKeys === null && (
        <Menu label="Key" value="All">
          <FilterForm {...props} omit={["apiKey"]}>
            <TextField label="Key ID" name="apiKey" place="menu" />
          </FilterForm>
        </Menu>
      )}
      {menu(interval)}
    </>
  );
}

/** The range, and the time to compare it with. */
function RangeFilters({ comparison, ...props }: UsageFilterProps & { comparison: FilterSelect }) {
  const { address, rangeWords, comparedWords } = props;
  const { range } = address;
  return (
    <>
      <Switch
        label="Range"
        choices={shortRanges.map(([one, label]) => ({
          href: rangeHref(address, one),
          label,
          isCurrent: one === range,
        }))}
      />
      <Menu label="Days" value={rangeWords ?? rangeNames[range]} isValueAlone>
        <MenuLinks
          choices={reportRanges.filter((one) => one !== "custom").map((one) => ({
            href: rangeHref(address, one),
            label: rangeNames[one],
            isCurrent: one === range,
          }))}
        />
        <hr />
        <p class="label">{rangeNames.custom}</p>
        <DaysForm {...props} of="range" place="menu" />
      </Menu>
      <Menu label="Compare with" value={`vs ${comparedWords ?? comparison.shown}`} isValueAlone>
        <ChoiceMenu {...props} select={comparison} />
        <hr />
        <p class="label">{comparisonNames.custom}</p>
        <DaysForm {...props} of="comparison" place="menu" />
      </Menu>
    </>
  );
}

function comparisonSelect({ address: { compare }, faults }: UsageFilterProps): FilterSelect {
  const valueOf = (one: ReportComparison) => one === "previous" ? "" : one;
  return {
    title: "Compare with",
    name: "compare",
    value: valueOf(compare),
    shown: comparisonNames[compare],
    choices: reportComparisons.filter((one) => one !== "custom" || compare === one).map((one) => ({
      value: valueOf(one),
      label: comparisonNames[one],
    })),
    error: faults.compare,
  };
}

function rangeHref(address: UsageAddress, range: ReportRange): string {
  return usageHref({ ...address, range, window: null, pages: firstPages });
}

/** Returns the select of the time zone, that of the length of windows, and the filters that have menus of their own. */
function selectsOf(
  { address: { filters }, unit, timezone, metric, choices, faults }: UsageFilterProps,
): { timezone: FilterSelect; interval: FilterSelect; filters: FilterSelect[] } {
  const { productSlug, apiKey, planId = null } = filters;
  const select = (
    title: string,
    name: FilterSelect["name"],
    { value, all, choices }: { value: string | null; all: string | null; choices: readonly Choice[] },
  ): FilterSelect => {
    const known = withAll(all, value, choices);
    const chosen = value === null ? "All" : known.find((choice) => choice.value === value)?.label;
    return { title, name, value: value ?? "", shown: chosen ?? "", choices: known, error: faults[name] };
  };
  return {
    timezone: {
      title: "Time zone",
      name: "timezone",
      value: timezone,
      shown: zoneWords(timezone),
      choices: timezoneChoices(choices.timezones, timezone),
      error: faults.timezone,
    },
    interval: select("By", "window", {
      value: unit,
      all: null,
      choices: windowUnits.map((value) => ({ value, label: unitNames[value] })),
    }),
    filters: [
      ...(choices.plans === undefined
        ? []
        : [select("Plan", "planId", { value: planId, all: "All plans", choices: choices.plans })]),
      select("Product", "productSlug", {
        value: productSlug,
        all: "All products",
        choices: choices.products,
      }),
      ...(choices.metrics.length === 0
        ? []
        : [select("Metric", "metric", { value: metric, all: null, choices: choices.metrics })]),
      ...(choices.apiKeys === null
        ? []
        : [select("Key", "apiKey", { value: apiKey, all: "All keys", choices: choices.apiKeys })]),
      ...(choices.properties ?? []).map(({ name, values }) =>
        select(propertyTitle(name), name, {
          value: filters[name] ?? null,
          all: "All values",
          choices: values,
        })
      ),
    ],
  };
}

/** Returns the property as a title: `Region`. */
export function propertyTitle(name: PropertyName): string {
  const words = name.slice("properties.".length).replaceAll(/[._-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
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
