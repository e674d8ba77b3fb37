// The filter of the console's usage page for organizations: there are too many to list, so they are searched for.
import type { Choice } from "../components/field.tsx";
import { MenuLinks } from "../components/menu.tsx";
import { FilterForm, TextField } from "./usage_filter_forms.tsx";
import { filteredHref, type UsageAddress } from "./usage_address.ts";

export interface OrganizationFilter {
  /** The name of the chosen one; null for all. */
  readonly name: string | null;
  /** Some to choose without a search. */
  readonly busiest: readonly Choice[];
  /** The text that was searched for, and several organizations that it found; null without any. */
  readonly search: { readonly text: string; readonly found: readonly Choice[] } | null;
}

export function OrganizationMenu(
  { organization: { name, busiest }, address }: {
    organization: OrganizationFilter;
    address: UsageAddress;
  },
) {
  const links = name === null ? busiest : [{ value: "", label: "All organizations" }];
  return (
    <>
      <FilterForm address={address} omit={["organizationId", "apiKey"]} button="Find">
        <TextField label="Name, ID or external ID" name="organization" place="menu" />
      </FilterForm>
      {links.length > 0 && <hr />}
      {name === null && links.length > 0 && <p class="label">Most usage</p>}
      <OrganizationLinks address={address} choices={links} />
    </>
  );
}

function OrganizationLinks({ address, choices }: { address: UsageAddress; choices: readonly Choice[] }) {
  return (
    <MenuLinks
      choices={choices.map(({ value, label }) => ({
        href: filteredHref(address, { organizationId: value === "" ? null : value, apiKey: null }),
        label,
        isCurrent: false,
      }))}
    />
  );
}

export function FoundOrganizations(
  { address, text, found }: { address: UsageAddress; text: string; found: readonly Choice[] },
) {
  const title = `Organizations that match “${text}”`;
  return (
    <nav class="card matches" aria-label={title}>
      <p class="label">{title}</p>
      <OrganizationLinks address={address} choices={found} />
    </nav>
  );
}
