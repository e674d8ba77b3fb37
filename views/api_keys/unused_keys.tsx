// The pages that revoke several keys: those that were chosen in the list, or those without requests or usage for 90 days.
import { type ApiKey, withoutTag } from "../../domain/api_key.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { CheckboxGroup } from "../components/field.tsx";
import { aboutOrganization, type FormErrors } from "../components/form.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { FormPage } from "../components/form_page.tsx";
import { shortDate } from "../text/time.ts";

interface RevokeKeysPageProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly lines: readonly ApiKey[];
  /** The start of the quarter of an hour of the last usage, by key; null if it is not available. */
  readonly lastUsage: ReadonlyMap<string, number> | null;
  readonly chosen: ReadonlySet<string>;
}

/** `count`: with keys that are not shown. */
export function unusedKeysPage({ count, ...props }: RevokeKeysPageProps & { count: number }): Page {
  const { frame, lines } = props;
  return (
    <RevokeKeysPage
      {...props}
      title="Revoke unused keys"
      label={count > lines.length
        ? `${groupDigits(lines.length)} of ${countOf(count, "key")} without requests or usage for 90 days`
        : `${countOf(count, "key")} without requests or usage for 90 days`}
      action={`${frame.base}/api-keys/revoke-unused`}
    />
  );
}

/** `query`: that of the address, which names the keys. */
export function chosenKeysPage({ query, ...props }: RevokeKeysPageProps & { query: string }): Page {
  const { frame, lines } = props;
  return (
    <RevokeKeysPage
      {...props}
      title={lines.length === 1 ? "Revoke key" : "Revoke keys"}
      label={countOf(lines.length, "selected key")}
      action={`${frame.base}/api-keys/revoke${query}`}
    />
  );
}

function RevokeKeysPage(
  { frame, lines, lastUsage, chosen, title, label, action, ...errors }: RevokeKeysPageProps & {
    title: string;
    label: string;
    action: string;
  },
) {
  return (
    <FormPage
      frame={frame}
      place="api-keys"
      title={title}
      text="Requests with a revoked key will fail immediately. This can't be undone."
      back={{ href: `${frame.base}/api-keys`, label: "API keys" }}
      action={action}
      hidden={aboutOrganization(frame)}
      error={errors.message}
      submit="Revoke selected keys"
      tone="destroy"
      isNarrow
    >
      <CheckboxGroup
        label={label}
        name="keys"
        value={chosen}
        error={errors.fields["keys"]}
        choices={lines.map((line) => ({
          value: line.id,
          label: line.name,
          isName: true,
          hint: useText(line, { lastUsage, now: frame.now }),
        }))}
      />
    </FormPage>
  );
}

function useText(
  { id, lastUsedAt, createdAt, keyPrefix }: ApiKey,
  { lastUsage, now }: Pick<RevokeKeysPageProps, "lastUsage"> & { now: number },
): string {
  const lastUsageAt = lastUsage?.get(id);
  const date = (at: string) => shortDate(Date.parse(at), now);
  const uses = [
    ...(lastUsedAt === null ? [] : [`Last request ${date(lastUsedAt)}`]),
    ...(lastUsageAt === undefined ? [] : [`Last usage ${shortDate(lastUsageAt, now)}`]),
  ];
  const never = lastUsage === null ? "No requests yet" : "Never used";
  const use = uses.length === 0 ? [`${never}, created ${date(createdAt)}`] : uses;
  return [...use, withoutTag(keyPrefix)].join(" · ");
}
