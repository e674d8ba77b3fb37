// The search and the menus above a list of the console. All choices are in the page's address.
import { searchCharactersMax } from "../../domain/limits.ts";
import { SubmitButton } from "./button.tsx";
import { type Choice, type ChoiceGroup, SelectField, TextField } from "./field.tsx";

interface ListFiltersProps {
  readonly action: string;
  readonly search: string;
  /** Such as `Name or external ID`. */
  readonly searches: string;
  readonly menus: readonly {
    readonly label: string;
    readonly name: string;
    readonly value: string;
    readonly choices: readonly (Choice | ChoiceGroup)[];
  }[];
}

/** With scripts, the form is sent at every choice. */
export function ListFilters({ action, search, searches, menus }: ListFiltersProps) {
  return (
    <form class="filters" method="get" action={action} role="search" data-send-on-change>
      <div class="selects">
        <TextField
          type="search"
          label="Search"
          name="search"
          value={search}
          placeholder={searches}
          autocomplete="off"
          maxlength={searchCharactersMax}
        />
        {menus.map((menu) => <SelectField {...menu} />)}
        <div class="show">
          <SubmitButton tone="plain">Apply</SubmitButton>
        </div>
      </div>
    </form>
  );
}

/** Returns an address with these choices, without empty ones. */
export function listHref(path: string, choices: Readonly<Record<string, string | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(choices)) if (value) query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}
