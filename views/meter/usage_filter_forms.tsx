// The forms in the filters of the usage pages. Each keeps all other filters.
import type { Child } from "hono/jsx";
import { searchCharactersMax, usagePageYearMax, usagePageYearMin } from "../../domain/limits.ts";
import type { PeriodQuery } from "../../domain/meter/usage_period.ts";
import { SubmitButton } from "../components/button.tsx";
import type { Choice, ChoiceGroup } from "../components/field.tsx";
import { MenuLinks } from "../components/menu.tsx";
import {
  firstPages,
  type PropertyName,
  type UsageAddress,
  type UsageFilters,
  usageHref,
} from "./usage_address.ts";

/** One sentence for each field with an invalid value. */
export type UsageFaults = Readonly<
  Partial<Record<keyof PeriodQuery | keyof UsageFilters | "stack" | "organization", string>>
>;

interface FormProps {
  readonly address: UsageAddress;
  readonly faults: UsageFaults;
}

/** With more choices than this, a menu has a form. */
const linksMax = 30;
const years = { min: `${usagePageYearMin}-01-01`, max: `${usagePageYearMax}-12-31` };

export function FilterForm(
  { address, omit, button = "Apply", children }: Pick<FormProps, "address"> & {
    omit: readonly string[];
    button?: string;
    children: Child;
  },
) {
  const { searchParams } = new URL(usageHref({ ...address, pages: firstPages }), "http://page");
  const kept = [...searchParams].filter(([name]) => !omit.includes(name));
  return (
    <form method="get" action={address.path}>
      {kept.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      {children}
      <SubmitButton tone="plain">{button}</SubmitButton>
    </form>
  );
}

/** Each field has two places, of which one is shown. */
export type FieldPlace = { readonly place: "menu" | "folded" };

export function TextField(
  { label, name, place }: FieldPlace & { label: string; name: "apiKey" | "organization" },
) {
  return (
    <div class="field">
      <label for={`${place}-${name}`}>{label}</label>
      <input id={`${place}-${name}`} name={name} maxlength={searchCharactersMax} autocomplete="off" />
    </div>
  );
}

const dayFields = {
  range: [["from", "from", "First day"], ["to", "to", "Last day"]],
  comparison: [["compareFrom", "from", "First day"], ["compareTo", "to", "Last day"]],
} as const;

/** `of`: the range, or the time to compare it with. */
export function DaysForm({ of, place, ...props }: FormProps & FieldPlace & { of: keyof typeof dayFields }) {
  const { address, faults } = props;
  const fields = dayFields[of];
  const days = of === "range" ? address.days : address.comparedDays;
  const custom: UsageAddress = of === "range"
    ? { ...address, range: "custom", window: null }
    : { ...address, compare: "custom" };
  return (
    <FilterForm {...props} address={custom} omit={fields.map(([name]) => name)}>
      <div class="two">
        {fields.map(([name, day, label]) => (
          <div class="field">
            <label for={`${place}-${name}`}>{label}</label>
            <input
              type="date"
              id={`${place}-${name}`}
              name={name}
              value={days[day]}
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

export interface FilterSelect {
  readonly title: string;
  readonly name:
    | "productSlug"
    | "metric"
    | "apiKey"
    | "planId"
    | "window"
    | "compare"
    | "timezone"
    | PropertyName;
  readonly value: string;
  readonly shown: string;
  readonly choices: readonly (Choice | ChoiceGroup)[];
  readonly error: string | undefined;
}

export function ChoiceMenu({ select, ...props }: FormProps & { select: FilterSelect }) {
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

export function Select({ title, name, value, choices, error, place }: FilterSelect & FieldPlace) {
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
