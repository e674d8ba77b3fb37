// The filters of the usage page: links, and forms for what has too many choices. The address of the page has all of them.
import type { Child } from "hono/jsx";
import { usagePageYearMax, usagePageYearMin } from "../../domain/limits.ts";
import { type ReportRange, reportRanges } from "../../domain/meter/usage_period.ts";
import { type WindowUnit, windowUnits } from "../../domain/meter/usage_window.ts";
import { zoneWords } from "../text/zone.ts";
import { SubmitButton } from "../components/button.tsx";
import { unitNames } from "../components/chart.tsx";
import type { Choice, ChoiceGroup } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { FilterBar, Menu, MenuLinks, Switch } from "../components/menu.tsx";

/** Null for all. */
interface UsageFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly apiKey: string | null;
}

export interface UsageAddress {
  /** The path of the page: the portal's or the console's. */
  readonly path: string;
  readonly range: ReportRange;
  /** The first and the last day of the range, such as `2026-11-01`. */
  readonly days: { readonly from: string; readonly to: string };
  /** Null for the range's default. */
  readonly window: WindowUnit | null;
  /** An IANA name; null for the person's own. */
  readonly timezone: string | null;
  /** The metric is null for the person's own. */
  readonly filters: UsageFilters;
  /** Null if the chart stacks products. */
  readonly stack: "key" | null;
  /** The pages of the tables; null for the first. */
  readonly pages: { readonly products: number | null; readonly keys: number | null };
}

export function usageHref(
  { path, range, days, window, timezone, filters, stack, pages }: UsageAddress,
): string {
  const query = new URLSearchParams({ range });
  const more = {
    ...(range === "custom" ? days : {}),
    window,
    timezone,
    ...filters,
    stack,
    productPage: pages.products,
    keyPage: pages.keys,
  };
  for (const [name, value] of Object.entries(more)) if (value !== null) query.set(name, String(value));
  return `${path}?${query}`;
}

export const firstPages = { products: null, keys: null } as const;

/** Returns the page with other filters, from the first line of its tables on. */
export function filteredHref(address: UsageAddress, filters: Partial<UsageFilters>): string {
  return usageHref({ ...address, filters: { ...address.filters, ...filters }, pages: firstPages });
}

interface UsageChoices {
  readonly products: readonly Choice[];
  /** Those that have no place above the chart. */
  readonly metrics: readonly Choice[];
  /** Null in the console, which has no filter for keys. */
  readonly apiKeys: readonly Choice[] | null;
  /** IANA names. */
  readonly timezones: readonly string[];
}

/** One sentence for each field with an invalid value. */
type UsageFaults = Readonly<
  Partial<Record<"from" | "to" | "window" | "metric" | "apiKey" | "timezone", string>>
>;

export interface UsageFilterProps {
  readonly address: UsageAddress;
  /** The range in words, such as `November 1–22`; null if it is invalid. */
  readonly rangeWords: string | null;
  /** The length of the windows, the time zone and the metric on the page. */
  readonly unit: WindowUnit;
  readonly timezone: string;
  readonly metric: string | null;
  readonly choices: UsageChoices;
  readonly faults: UsageFaults;
}

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
/** With more choices than this, a menu has a form. */
const linksMax = 30;
const years = { min: `${usagePageYearMin}-01-01`, max: `${usagePageYearMax}-12-31` };

/** The filters. On a phone, all but the usual ranges are in one menu. */
export function UsageFilterBar(props: UsageFilterProps) {
  const { address, rangeWords, faults } = props;
  const { range } = address;
  const [timezone, ...selects] = selectsOf(props);
  const start = (
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
        <DaysForm {...props} place="menu" />
      </Menu>
    </>
  );
  return (
    <>
      <FilterBar start={start}>
        {selects.map((select) => (
          <Menu label={select.title} value={select.shown} isAtEnd>
            <ChoiceMenu {...props} select={select} />
          </Menu>
        ))}
        <Menu
          class="folded"
          label={timezone.title}
          value={timezone.shown}
          foldedLabel="Filters"
          isAtEnd
        >
          <div class="in-fold">
            <DaysForm {...props} place="folded" />
            <hr />
          </div>
          {/* The list of time zones is long, so the page has it once. */}
          <FilterForm {...props} omit={[timezone, ...selects].map(({ name }) => name)}>
            <div class="in-fold">
              {selects.map((select) => <Select {...select} place="folded" />)}
            </div>
            <Select {...timezone} place="menu" />
          </FilterForm>
        </Menu>
      </FilterBar>
      {Object.entries(faults).map(([name, fault]) => (
        <p class="field-error" id={`${name}-error`}>
          <Icon name="alert" />
          <span>{fault}</span>
        </p>
      ))}
    </>
  );
}

function rangeHref(address: UsageAddress, range: ReportRange): string {
  return usageHref({ ...address, range, window: null, pages: firstPages });
}

function FilterForm(
  { address, omit, children }: UsageFilterProps & { omit: readonly string[]; children: Child },
) {
  const { searchParams } = new URL(usageHref({ ...address, pages: firstPages }), "http://page");
  const kept = [...searchParams].filter(([name]) => !omit.includes(name));
  return (
    <form method="get" action={address.path}>
      {kept.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      {children}
      <SubmitButton tone="plain">Apply</SubmitButton>
    </form>
  );
}

/** Each field has two places, of which one is shown. */
type FieldPlace = { readonly place: "menu" | "folded" };

function DaysForm({ place, ...props }: UsageFilterProps & FieldPlace) {
  const { address, faults } = props;
  return (
    <FilterForm {...props} address={{ ...address, range: "custom", window: null }} omit={["from", "to"]}>
      <div class="two">
        {(["from", "to"] as const).map((name) => (
          <div class="field">
            <label for={`${place}-${name}`}>{name === "from" ? "First day" : "Last day"}</label>
            <input
              type="date"
              id={`${place}-${name}`}
              name={name}
              value={address.days[name]}
              {...years}
              aria-invalid={faults[name] === undefined ? undefined : "true"}
              aria-describedby={faults[name] === undefined ? undefined : `${name}-error`}
            />
          </div>
        ))}
      </div>
    </FilterForm>
  );
}

interface FilterSelect {
  readonly title: string;
  readonly name: "productSlug" | "metric" | "apiKey" | "window" | "timezone";
  readonly value: string;
  readonly shown: string;
  readonly choices: readonly (Choice | ChoiceGroup)[];
  readonly error: string | undefined;
}

function ChoiceMenu({ select, ...props }: UsageFilterProps & { select: FilterSelect }) {
  const { address } = props;
  const { name, value, choices } = select;
  const links = choices.filter((choice) => "value" in choice);
  if (links.length < choices.length || links.length > linksMax) {
    return (
      <FilterForm {...props} omit={[name]}>
        <Select {...select} place="menu" />
      </FilterForm>
    );
  }
  const hrefOf = (choice: string) => {
    const url = new URL(usageHref({ ...address, pages: firstPages }), "http://page");
    if (choice === "") url.searchParams.delete(name);
    else url.searchParams.set(name, choice);
    return url.pathname + url.search;
  };
  return (
    <MenuLinks
      choices={links.map((choice) => ({
        href: hrefOf(choice.value),
        label: choice.label,
        isCurrent: choice.value === value,
      }))}
    />
  );
}

function Select({ title, name, value, choices, error, place }: FilterSelect & FieldPlace) {
  const option = (choice: Choice) => (
    <option value={choice.value} selected={choice.value === value}>{choice.label}</option>
  );
  return (
    <div class="field">
      <label for={`${place}-${name}`}>{title}</label>
      <select
        id={`${place}-${name}`}
        name={name}
        aria-invalid={error === undefined ? undefined : "true"}
        aria-describedby={error === undefined ? undefined : `${name}-error`}
      >
        {choices.map((one) =>
          "choices" in one ? <optgroup label={one.label}>{one.choices.map(option)}</optgroup> : option(one)
        )}
      </select>
    </div>
  );
}

/** Returns the select of the time zone, and those that have menus of their own on wide screens. */
function selectsOf(
  { address: { filters }, unit, timezone, metric, choices, faults }: UsageFilterProps,
): [timezone: FilterSelect, ...others: FilterSelect[]] {
  const { productSlug, apiKey } = filters;
  const select = (
    title: string,
    name: FilterSelect["name"],
    { value, all, choices }: { value: string | null; all: string | null; choices: readonly Choice[] },
  ): FilterSelect => {
    const known = withAll(all, value, choices);
    const chosen = value === null ? "All" : known.find((choice) => choice.value === value)?.label;
    const error = name === "productSlug" ? undefined : faults[name];
    return { title, name, value: value ?? "", shown: chosen ?? "", choices: known, error };
  };
  return [
    {
      title: "Time zone",
      name: "timezone",
      value: timezone,
      shown: zoneWords(timezone),
      choices: timezoneChoices(choices.timezones, timezone),
      error: faults.timezone,
    },
    select("Product", "productSlug", { value: productSlug, all: "All products", choices: choices.products }),
    ...(choices.metrics.length === 0
      ? []
      : [select("Metric", "metric", { value: metric, all: null, choices: choices.metrics })]),
    ...(choices.apiKeys === null
      ? []
      : [select("Key", "apiKey", { value: apiKey, all: "All keys", choices: choices.apiKeys })]),
    select("By", "window", {
      value: unit,
      all: null,
      choices: windowUnits.map((value) => ({ value, label: unitNames[value] })),
    }),
  ];
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
