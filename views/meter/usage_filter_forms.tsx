// The forms in the menus of an explorer's filters. Each keeps all other filters.
import type { Child } from "hono/jsx";
import { searchCharactersMax, usagePageYearMax, usagePageYearMin } from "../../domain/limits.ts";
import type { PeriodQuery } from "../../domain/meter/usage_period.ts";
import { SubmitButton } from "../components/button.tsx";
import type { Choice, ChoiceGroup } from "../components/field.tsx";
import { type PropertyName, type UsageAddress, type UsageFilters, usageHref } from "./usage_address.ts";

/** One sentence for each field with an invalid value. */
export type UsageFaults = Readonly<
  Partial<Record<keyof PeriodQuery | keyof UsageFilters | "stack" | "organization", string>>
>;

const years = { min: `${usagePageYearMin}-01-01`, max: `${usagePageYearMax}-12-31` };

/** `omit`: the names of its fields. */
export function FilterForm(
  { address, omit, children }: { address: UsageAddress; omit: readonly string[]; children: Child },
) {
  const { searchParams } = new URL(usageHref({ ...address, page: null }), "http://page");
  const kept = [...searchParams].filter(([name]) => !omit.includes(name));
  return (
    <form method="get" action={address.path}>
      {kept.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      {children}
      <SubmitButton tone="plain">Apply</SubmitButton>
    </form>
  );
}

export function TextField({ label, name }: { label: string; name: "apiKey" | "organization" }) {
  return (
    <div class="field">
      <label for={`menu-${name}`}>{label}</label>
      <input id={`menu-${name}`} name={name} maxlength={searchCharactersMax} autocomplete="off" />
    </div>
  );
}

const dayFields = {
  range: [["from", "from", "First day"], ["to", "to", "Last day"]],
  comparison: [["compareFrom", "from", "First day"], ["compareTo", "to", "Last day"]],
} as const;

/** `of`: the range, or the time to compare it with. */
export function DaysForm(
  { address, faults, of }: { address: UsageAddress; faults: UsageFaults; of: keyof typeof dayFields },
) {
  const fields = dayFields[of];
  const days = of === "range" ? address.days : address.comparedDays;
  const custom: UsageAddress = of === "range"
    ? { ...address, range: "custom", window: null }
    : { ...address, compare: "custom" };
  return (
    <FilterForm address={custom} omit={fields.map(([name]) => name)}>
      <div class="two">
        {fields.map(([name, day, label]) => (
          <div class="field">
            <label for={`menu-${name}`}>{label}</label>
            <input
              type="date"
              id={`menu-${name}`}
              name={name}
              value={days[day]}
              {...years}
              {...faultOf(name, faults[name])}
            />
          </div>
        ))}
      </div>
    </FilterForm>
  );
}

function faultOf(name: string, fault: string | undefined) {
  return fault === undefined ? {} : { "aria-invalid": "true", "aria-describedby": `${name}-error` } as const;
}

export interface FilterSelect {
  readonly title: string;
  readonly name: "productSlug" | "metric" | "apiKey" | "planId" | "window" | "timezone" | PropertyName;
  readonly value: string;
  readonly choices: readonly (Choice | ChoiceGroup)[];
}

export function Select({ title, name, value, choices, faults }: FilterSelect & { faults: UsageFaults }) {
  const option = (choice: Choice) => (
    <option value={choice.value} selected={choice.value === value}>{choice.label}</option>
  );
  return (
    <div class="field">
      <label for={`menu-${name}`}>{title}</label>
      <select id={`menu-${name}`} name={name} {...faultOf(name, faults[name])}>
        {choices.map((one) =>
          "choices" in one ? <optgroup label={one.label}>{one.choices.map(option)}</optgroup> : option(one)
        )}
      </select>
    </div>
  );
}
