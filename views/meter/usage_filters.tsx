// The filters of the usage page: ranges as links, everything else as a form. The address of the page has all of them.
import { usagePageYearMax, usagePageYearMin } from "../../domain/limits.ts";
import { type ReportRange, reportRanges } from "../../domain/meter/usage_period.ts";
import { type WindowUnit, windowUnits } from "../../domain/meter/usage_window.ts";
import { zoneWords } from "../text/zone.ts";
import { SubmitButton } from "../components/button.tsx";
import { unitNames } from "../components/chart.tsx";
import { type Choice, type ChoiceGroup, DateField, SelectField } from "../components/field.tsx";

/** What the usage is limited to; null for all. */
export interface UsageFilters {
  readonly productSlug: string | null;
  readonly metric: string | null;
  readonly apiKey: string | null;
}

/** The parameters of the page's address. */
export interface UsageAddress {
  /** The path of the page: the portal's or the console's. */
  readonly path: string;
  readonly range: ReportRange;
  /** The first and the last day of the range, such as `2026-11-01`. */
  readonly days: { readonly from: string; readonly to: string };
  /** Null for the range's default. */
  readonly window: WindowUnit | null;
  /** An IANA name. */
  readonly timezone: string;
  readonly filters: UsageFilters;
}

/** @returns The page's path and query, without defaults. */
export function usageHref({ path, range, days, window, timezone, filters }: UsageAddress): string {
  const query = new URLSearchParams({ range });
  const more = {
    ...(range === "custom" ? days : {}),
    window,
    timezone: timezone === "UTC" ? null : timezone,
    ...filters,
  };
  for (const [name, value] of Object.entries(more)) if (value !== null) query.set(name, value);
  return `${path}?${query}`;
}

/** The options of the form. */
export interface UsageChoices {
  readonly products: readonly string[];
  readonly metrics: readonly string[];
  /** Null in the console, which has no filter for keys. */
  readonly apiKeys: readonly { readonly id: string; readonly name: string }[] | null;
  /** IANA names. */
  readonly timezones: readonly string[];
}

/** One sentence for each field with an invalid value. */
export type UsageFaults = Readonly<
  Partial<Record<"from" | "to" | "window" | "metric" | "apiKey" | "timezone", string>>
>;

/** The values of {@linkcode UsageFilterBar}. */
export interface UsageFilterProps {
  readonly address: UsageAddress;
  /** The length of the windows on the page. */
  readonly unit: WindowUnit;
  readonly choices: UsageChoices;
  readonly faults: UsageFaults;
}

const rangeNames: Readonly<Record<ReportRange, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "month": "This month",
  "last-month": "Last month",
  "90d": "90 days",
  "custom": "Custom range",
};

/** The filters. With scripts, the form is submitted by each choice, except for days. */
export function UsageFilterBar(props: UsageFilterProps) {
  const { address, faults } = props;
  const { range, days } = address;
  const apply = <SubmitButton tone="plain">Apply</SubmitButton>;
  return (
    <div class="filters">
      <nav class="chips" aria-label="Range">
        {reportRanges.map((one) => (
          <a
            href={usageHref({ ...address, range: one, window: one === "custom" ? address.window : null })}
            aria-current={one === range ? "true" : undefined}
          >
            {rangeNames[one]}
          </a>
        ))}
      </nav>
      <form class="choices" method="get" action={address.path} data-send-on-change>
        <input type="hidden" name="range" value={range} />
        {range === "custom" && (
          <div class="selects">
            <DateField label="Start date" name="from" value={days.from} error={faults.from} {...years} />
            <DateField label="End date" name="to" value={days.to} error={faults.to} {...years} />
            <div class="show">{apply}</div>
          </div>
        )}
        <div class="selects">
          {selectsOf(props).map((select) => SelectField(select))}
          {range === "custom" ? null : <div class="show without-scripts">{apply}</div>}
        </div>
      </form>
    </div>
  );
}

const years = { min: `${usagePageYearMin}-01-01`, max: `${usagePageYearMax}-12-31` };

function selectsOf({ address: { filters, timezone }, unit, choices, faults }: UsageFilterProps) {
  const { productSlug, metric, apiKey } = filters;
  return [
    {
      label: "Product",
      name: "productSlug",
      value: productSlug ?? "",
      choices: withAll("All products", productSlug, choices.products.map(named)),
    },
    {
      label: "Metric",
      name: "metric",
      value: metric ?? "",
      error: faults.metric,
      choices: withAll(metric === null ? "All metrics" : null, metric, choices.metrics.map(named)),
    },
    ...(choices.apiKeys === null ? [] : [{
      label: "API key",
      name: "apiKey",
      value: apiKey ?? "",
      error: faults.apiKey,
      choices: withAll(
        "All keys",
        apiKey,
        choices.apiKeys.map(({ id, name }) => ({ value: id, label: name })),
      ),
    }]),
    {
      label: "Group by",
      name: "window",
      value: unit,
      error: faults.window,
      choices: windowUnits.map((value) => ({ value, label: unitNames[value] })),
    },
    {
      label: "Time zone",
      name: "timezone",
      value: timezone,
      error: faults.timezone,
      choices: timezoneChoices(choices.timezones, timezone),
    },
  ];
}

function named(name: string): Choice {
  return { value: name, label: name };
}

/** @param all The label of no filter; null if the filter is required. */
function withAll(all: string | null, value: string | null, choices: readonly Choice[]): Choice[] {
  const isKnown = value === null || choices.some((choice) => choice.value === value);
  return [
    ...(all === null ? [] : [{ value: "", label: all }]),
    ...choices,
    ...(isKnown ? [] : [named(value)]),
  ];
}

/** @returns Time zones to choose from: UTC first, then by continent, so that typing the name of a city finds it. */
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
