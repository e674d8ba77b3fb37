// The filters of a list by day and more. All choices are in the page's address.
import type { Child } from "hono/jsx";
import { usagePageYearMax, usagePageYearMin } from "../../domain/limits.ts";
import { ButtonLink, SubmitButton } from "./button.tsx";
import { EmptyState } from "./empty_state.tsx";
import { DateField } from "./field.tsx";
import { HiddenFields } from "./form.tsx";
import { HintLine } from "./list_card.tsx";
import { Menu } from "./menu.tsx";

/** The first and the last day, such as `2026-11-01`, both included; or what was typed. Null: no bound. */
export interface DayBounds {
  readonly from: string | null;
  readonly to: string | null;
}

const years = { min: `${usagePageYearMin}-01-01`, max: `${usagePageYearMax}-12-31` };

/** A menu with the form of all filters, open while a field has an error. `kept`: choices that the form doesn't change. */
export function FilterMenu({ path, kept, days, labels, errors, children }: {
  path: string;
  kept: Readonly<Record<string, string | null>>;
  days: DayBounds;
  labels: { readonly from: string; readonly to: string };
  /** One sentence for each invalid field. */
  errors: { readonly from?: string; readonly to?: string };
  /** The other fields, before the days. */
  children: Child;
}) {
  return (
    <Menu label="Filters" icon="filter" isAtEnd isOpen={Object.keys(errors).length > 0}>
      <form method="get" action={path}>
        <HiddenFields values={kept} />
        {children}
        {(["from", "to"] as const).map((name) => (
          <DateField
            label={labels[name]}
            name={name}
            value={days[name] ?? ""}
            error={errors[name]}
            isOptional
            {...years}
          />
        ))}
        <SubmitButton tone="plain">Apply</SubmitButton>
      </form>
    </Menu>
  );
}

/** The chosen filters in words, with a link that clears them. */
export function ChosenFilters({ words, days: { from, to }, clearHref }: {
  words: readonly (string | null)[];
  days: DayBounds;
  clearHref: string;
}) {
  const chosen = [...words, from && `from ${from}`, to && `to ${to}`].filter((one) => one);
  if (chosen.length === 0) return null;
  return <HintLine text={<bdi>{chosen.join(" · ")}</bdi>} href={clearHref} action="Clear filters" />;
}

/** In place of an empty list of `what`. `text`: explains that it is empty without filters. */
export function NothingListed({ what, hasErrors, isFiltered, text, clearHref }: {
  what: string;
  hasErrors: boolean;
  isFiltered: boolean;
  text: string;
  clearHref: string;
}) {
  if (hasErrors) return <EmptyState title="Nothing to show" text="Fix the fields marked above." />;
  if (!isFiltered) return <EmptyState title={`No ${what}`} text={text} />;
  return (
    <EmptyState title={`No matching ${what}`} text="Try other filters.">
      <ButtonLink href={clearHref}>Clear filters</ButtonLink>
    </EmptyState>
  );
}
