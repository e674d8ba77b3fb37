// The list of identities at providers, and buttons that open a provider.
import { type Identity, identityName } from "../../domain/people/identity.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { SubmitButton } from "../components/button.tsx";
import { HiddenFields, returnField } from "../components/form.tsx";
import type { ItemColumn } from "../components/item_table.tsx";
import { DayTime, TimeCell } from "../components/relative_time.tsx";

/** The columns of a list of identities, for their owner and for operators. */
export function identityColumns(now: number): ItemColumn<Identity>[] {
  return [
    {
      title: "Provider",
      in: "title",
      cell: (identity) => (
        <>
          <span class="name">
            <bdi>{identityName(identity)}</bdi>
          </span>
          {identity.email && <div class="muted tiny">{identity.email}</div>}
          {identity.provider === null && <div class="muted tiny">No longer signs in here</div>}
        </>
      ),
    },
    { title: "Connected", cell: ({ createdAt }) => <DayTime at={createdAt} now={now} /> },
    { title: "Last used", cell: ({ lastUsedAt }) => <TimeCell at={lastUsedAt} now={now} /> },
  ];
}

/** A button that opens a provider. The browser sends the form itself: htmx can't follow it to another origin. */
export function ProviderForm({ action, provider, returnTo, verb }: {
  action: string;
  provider: OfferedProvider;
  returnTo?: string;
  verb: string;
}) {
  return (
    <form method="post" action={action} hx-boost="false">
      <HiddenFields values={{ provider: provider.slug, ...returnField(returnTo) }} />
      <SubmitButton tone="plain">
        <span>
          {verb} <bdi>{provider.name}</bdi>
        </span>
      </SubmitButton>
    </form>
  );
}
