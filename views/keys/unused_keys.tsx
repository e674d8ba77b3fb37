// The pages that revoke several keys: those that were chosen in the list, or those without requests or usage for 90 days.
import { type ApiKey, withoutTag } from "../../domain/keys/api_key.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { CheckboxGroup } from "../components/field.tsx";
import { FormPage, type PageForm } from "../components/form_page.tsx";
import type { Page } from "../layout.tsx";
import { shortDate } from "../text/time.ts";

interface RevokeKeysProps {
  readonly lines: readonly ApiKey[];
  /** The start of the quarter of an hour of the last usage, by key; null if it is not available. */
  readonly lastUsage: ReadonlyMap<string, number> | null;
  readonly chosen: ReadonlySet<string>;
}

/** `unusedCount`: of all unused keys, with those that are not shown; undefined for keys that were chosen. */
export function revokeKeysPage(
  form: PageForm,
  { lines, lastUsage, chosen, unusedCount }: RevokeKeysProps & { readonly unusedCount?: number },
): Page {
  const chosenTitle = lines.length === 1 ? "Revoke key" : "Revoke keys";
  const shown = unusedCount !== undefined && unusedCount > lines.length
    ? `${groupDigits(lines.length)} of ${countOf(unusedCount, "key")}`
    : countOf(lines.length, "key");
  return (
    <FormPage
      {...form}
      title={unusedCount === undefined ? chosenTitle : "Revoke unused keys"}
      text="Requests with a revoked key will fail immediately. This can't be undone."
      submit="Revoke selected keys"
      tone="destroy"
      isNarrow
    >
      <CheckboxGroup
        label={unusedCount === undefined
          ? countOf(lines.length, "selected key")
          : `${shown} without requests or usage for 90 days`}
        name="keys"
        value={chosen}
        error={form.fields["keys"]}
        choices={lines.map((line) => ({
          value: line.id,
          label: line.name,
          isName: true,
          hint: useText(line, { lastUsage, now: form.frame.now }),
        }))}
      />
    </FormPage>
  );
}

function useText(
  { id, lastUsedAt, createdAt, keyPrefix }: ApiKey,
  { lastUsage, now }: Pick<RevokeKeysProps, "lastUsage"> & { now: number },
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
