// The page that revokes keys without requests or usage for 90 days.
import { apiKeyTag } from "../../domain/api_key.ts";
import type { KeyLine } from "../../domain/key_list.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { CheckboxGroup } from "../components/field.tsx";
import { aboutOrganization, type FormErrors } from "../components/form.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { FormPage } from "../components/form_page.tsx";
import { shortDate } from "../text/time.ts";

interface UnusedKeysPageProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly lines: readonly KeyLine[];
  /** The start of the quarter of an hour of the last usage, by key. */
  readonly lastUsage: ReadonlyMap<string, number>;
  /** With those that are not shown. */
  readonly count: number;
  readonly chosen: ReadonlySet<string>;
}

export function unusedKeysPage(
  { frame, lines, lastUsage, count, chosen, ...errors }: UnusedKeysPageProps,
): Page {
  const keysHref = `${frame.base}/api-keys`;
  const isPart = count > lines.length;
  return (
    <FormPage
      frame={frame}
      place="api-keys"
      title="Revoke unused keys"
      text="Requests with a revoked key will fail immediately. This can't be undone."
      back={{ href: keysHref, label: "API keys" }}
      action={`${keysHref}/revoke-unused`}
      hidden={aboutOrganization(frame)}
      error={errors.message}
      submit="Revoke selected keys"
      tone="destroy"
      isNarrow
    >
      <CheckboxGroup
        label={isPart
          ? `${groupDigits(lines.length)} of ${countOf(count, "key")} without requests or usage for 90 days`
          : `${countOf(count, "key")} without requests or usage for 90 days`}
        name="keys"
        value={chosen}
        error={errors.fields["keys"]}
        choices={lines.map((line) => ({
          value: line.id,
          label: line.name,
          isName: true,
          hint: useText(line, { lastUsageAt: lastUsage.get(line.id), now: frame.now }),
        }))}
      />
    </FormPage>
  );
}

function useText(
  { lastUsedAt, createdAt, keyPrefix }: KeyLine,
  { lastUsageAt, now }: { lastUsageAt: number | undefined; now: number },
): string {
  const date = (at: string) => shortDate(Date.parse(at), now);
  const uses = [
    ...(lastUsedAt === null ? [] : [`Last request ${date(lastUsedAt)}`]),
    ...(lastUsageAt === undefined ? [] : [`Last usage ${shortDate(lastUsageAt, now)}`]),
  ];
  const use = uses.length === 0 ? [`Never used, created ${date(createdAt)}`] : uses;
  return [...use, keyPrefix.replace(apiKeyTag, "")].join(" · ");
}
