// The page that revokes keys that were not used for 90 days.
import { apiKeyTag } from "../../domain/api_key.ts";
import type { KeyLine } from "../../domain/key_list.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { CheckboxGroup } from "../components/field.tsx";
import { aboutOrganization, Form, type FormErrors } from "../components/form.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { shortDate } from "../text/time.ts";

interface UnusedKeysPageProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly lines: readonly KeyLine[];
  /** With those that are not shown. */
  readonly count: number;
  readonly chosen: ReadonlySet<string>;
}

export function unusedKeysPage({ frame, lines, count, chosen, ...errors }: UnusedKeysPageProps): Page {
  const keysHref = `${frame.base}/api-keys`;
  const isPart = count > lines.length;
  return (
    <PortalPage title="Revoke unused keys" frame={frame} place="api-keys">
      <div class="ask">
        <PageHead
          back={{ href: keysHref, label: "API keys" }}
          title="Revoke unused keys"
          text="Requests with a revoked key will fail immediately. This can't be undone."
        />
        <Form
          class="card"
          action={`${keysHref}/revoke-unused`}
          hidden={aboutOrganization(frame)}
          error={errors.message}
        >
          <div class="body">
            <CheckboxGroup
              label={isPart
                ? `${groupDigits(lines.length)} of ${countOf(count, "key")} not used for 90 days`
                : `${countOf(count, "key")} not used for 90 days`}
              name="keys"
              value={chosen}
              error={errors.fields["keys"]}
              choices={lines.map((line) => ({
                value: line.id,
                label: line.name,
                isName: true,
                hint: useText(line, frame.now),
              }))}
            />
          </div>
          <footer>
            <SubmitButton tone="destroy">Revoke selected keys</SubmitButton>
            <ButtonLink href={keysHref}>Cancel</ButtonLink>
          </footer>
        </Form>
      </div>
    </PortalPage>
  );
}

function useText({ lastUsedAt, createdAt, keyPrefix }: KeyLine, now: number): string {
  const date = (at: string) => shortDate(Date.parse(at), now);
  const use = lastUsedAt === null
    ? `Never used, created ${date(createdAt)}`
    : `Last used ${date(lastUsedAt)}`;
  return `${use} · ${keyPrefix.replace(apiKeyTag, "")}`;
}
