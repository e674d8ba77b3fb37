// What the usage page shows: ranges as links, everything else as a form, all of it in the address.
import { usagePageYearMax, usagePageYearMin } from "../../domain/limits.ts";
import { type ReportRange, reportRanges } from "../../domain/meter/usage_period.ts";
import { type WindowUnit, windowUnits } from "../../domain/meter/usage_window.ts";
import { zoneWords } from "../text/zone.ts";
import { SubmitButton } from "../components/button.tsx";
import { Chips } from "../components/chips.tsx";
import { type Choice, type ChoiceGroup, DateField, SelectField } from "../components/field.tsx";
import { type UsageAddress, usageHref } from "./usage_address.ts";

/** What can be chosen. */
export interface UsageChoices {
  readonly products: readonly string[];
  readonly metrics: readonly string[];
  readonly apiKeys: readonly { readonly id: string; readonly name: string }[];
  /** IANA names. */
  readonly timezones: readonly string[];
}

/** One sentence for each field whose value was not taken. */
export type UsageFaults = Readonly<
  Partial<Record<"from" | "to" | "window" | "metric" | "apiKey" | "timezone", string>>
>;

/** What {@linkcode UsageFilterBar} needs. */
export interface UsageFilterProps {
  readonly address: UsageAddress;
  /** How long the windows are that are shown. */
  readonly unit: WindowUnit;
  readonly choices: UsageChoices;
  readonly faults: UsageFaults;
}

const rangeWords: Readonly<Record<ReportRange, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "month": "This month",
  "last-month": "Last month",
  "90d": "90 days",
  "custom": "Other days",
};
const unitWords: Readonly<Record<WindowUnit, string>> = {
  hour: "Hours",
  day: "Days",
  week: "Weeks",
  month: "Months",
};

/** The ranges, and the form beneath them. */
export function UsageFilterBar(props: UsageFilterProps) {
  const { address } = props;
  // Each range has its usual windows; days that one chooses begin as what is shown.
  const chips = reportRanges.map((range) => ({
    label: rangeWords[range],
    href: usageHref({ ...address, range, window: range === "custom" ? address.window : null }),
    isCurrent: range === address.range,
  }));
  return (
    <div class="filters">
      <Chips label="Range" chips={chips} />
      <FilterForm {...props} />
    </div>
  );
}

/** Sent at every choice where scripts run; days are sent by the button. */
function FilterForm({ address, unit, choices, faults }: UsageFilterProps) {
  const { range, days, filters, timezone } = address;
  const isCustom = range === "custom";
  const show = <SubmitButton tone="plain">Show</SubmitButton>;
  return (
    <form class="choices" method="get" action="/portal/usage" data-send-on-change>
      <input type="hidden" name="range" value={range} />
      {isCustom
        ? (
          <div class="selects">
            <DateField label="First day" name="from" value={days.from} error={faults.from} {...years} />
            <DateField label="Last day" name="to" value={days.to} error={faults.to} {...years} />
            <div class="show">{show}</div>
          </div>
        )
        : null}
      <div class="selects">
        <SelectField
          label="Product"
          name="productSlug"
          value={filters.productSlug ?? ""}
          choices={withAll("All products", filters.productSlug, choices.products.map(named))}
        />
        <SelectField
          label="Metric"
          name="metric"
          value={filters.metric ?? ""}
          error={faults.metric}
          choices={withAll(
            filters.metric === null ? "All metrics" : null,
            filters.metric,
            choices.metrics.map(named),
          )}
        />
        <SelectField
          label="Key"
          name="apiKey"
          value={filters.apiKey ?? ""}
          error={faults.apiKey}
          choices={withAll(
            "All keys",
            filters.apiKey,
            choices.apiKeys.map(({ id, name }) => ({ value: id, label: name })),
          )}
        />
        <SelectField
          label="By"
          name="window"
          value={unit}
          error={faults.window}
          choices={windowUnits.map((value) => ({ value, label: unitWords[value] }))}
        />
        <SelectField
          label="Time zone"
          name="timezone"
          value={timezone}
          error={faults.timezone}
          choices={timezoneChoices(choices.timezones, timezone)}
        />
        {isCustom ? null : <div class="show without-scripts">{show}</div>}
      </div>
    </form>
  );
}

const years = { min: `${usagePageYearMin}-01-01`, max: `${usagePageYearMax}-12-31` };

function named(name: string): Choice {
  return { value: name, label: name };
}

/** @param all What no choice means; null where there must be one. */
function withAll(all: string | null, value: string | null, choices: readonly Choice[]): Choice[] {
  const isKnown = value === null || choices.some((choice) => choice.value === value);
  return [
    ...(all === null ? [] : [{ value: "", label: all }]),
    ...choices,
    ...(isKnown ? [] : [{ value, label: value }]),
  ];
}

/** UTC first, then by continent; typing a city's name finds it. */
function timezoneChoices(timezones: readonly string[], value: string): (Choice | ChoiceGroup)[] {
  const groups = new Map<string, Choice[]>();
  for (const timezone of timezones) {
    const [area = "", ...place] = timezone.split("/");
    const group = groups.get(area) ?? [];
    group.push({ value: timezone, label: zoneWords(place.join("/")) });
    groups.set(area, group);
  }
  return [
    { value: "UTC", label: "UTC" },
    ...(value === "UTC" || timezones.includes(value) ? [] : [{ value, label: zoneWords(value) }]),
    ...[...groups].map(([label, choices]) => ({ label, choices })),
  ];
}
