// The page of an organization's API keys: a new key, shown once; the form that creates one; the list.
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { CodeBlock, exampleCurl, NewSecret } from "../components/code.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { NameField } from "../components/field.tsx";
import { ExpiryField } from "../components/expiry_field.tsx";
import { aboutOrganization, Form, type FormErrors } from "../components/form.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { PageLinks } from "../components/page_links.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { type ApiKeyRow, ApiKeyTable } from "./api_key_table.tsx";
import { type PermissionChoice, PermissionFields } from "./permission_fields.tsx";

/** A key that was just created. */
export interface NewKey {
  readonly name: string;
  readonly fullKey: string;
  /** After a rotation: when the old key expires (ISO 8601), null if it is revoked. */
  readonly replaced: { readonly endsAt: string | null } | null;
}

/** What the page shows. */
export interface ApiKeysPageProps {
  readonly frame: PortalFrame;
  readonly apiKeys: readonly ApiKeyRow[];
  /** Null when they are not available. `activeMax`: how many the plan allows, for those who see all keys. */
  readonly counts:
    | { readonly active: number; readonly inactive: number; readonly activeMax: number | null }
    | null;
  /** The cursor of the list's next page. */
  readonly nextCursor: string | null;
  readonly newKey: NewKey | null;
  readonly form: FormErrors & {
    readonly values: {
      readonly name: string;
      readonly expires: string;
      readonly permissions: PermissionChoice;
    };
  };
  /** The full address of `POST /api/v1/usage`. */
  readonly usageUrl: string;
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The page of the organization's keys. */
export function apiKeysPage(props: ApiKeysPageProps): Page {
  const { frame, newKey, counts, nextCursor } = props;
  return (
    <PortalPage title="API keys" frame={frame} place="api-keys">
      <PageHead
        title="API keys"
        text={
          <>
            Use API keys to record usage. Each key is shown only once; we store just a hash. Revoked keys stop
            working immediately. <a href="/docs" hx-boost="false">API reference</a>
          </>
        }
      />
      <Notice tone="done" text={props.flash} />
      {newKey && (
        <NewSecret
          what="key"
          name={newKey.name}
          value={newKey.fullKey}
          text={<OldKeyText replaced={newKey.replaced} now={frame.now} />}
        >
          <CodeBlock
            id="new-key-curl"
            label="Record usage"
            code={exampleCurl(props.usageUrl, newKey.fullKey)}
          />
        </NewSecret>
      )}
      <Card title="New key">
        <NewKeyForm form={props.form} frame={frame} />
      </Card>
      <Card
        title="API keys"
        aside={counts && <p class="muted small">{countsText(counts)}</p>}
        flush
      >
        {props.apiKeys.length === 0
          ? <EmptyState title="No keys yet" text="Create your first key above." />
          : <ApiKeyTable apiKeys={props.apiKeys} now={frame.now} />}
      </Card>
      <PageLinks
        links={[{
          href: nextCursor && `/portal/api-keys?cursor=${encodeURIComponent(nextCursor)}`,
          label: "Older keys",
        }]}
      />
    </PortalPage>
  );
}

function countsText({ active, inactive, activeMax }: NonNullable<ApiKeysPageProps["counts"]>): string {
  const all = activeMax === null ? "" : ` of ${groupDigits(activeMax)}`;
  return `${groupDigits(active)}${all} active · ${groupDigits(inactive)} inactive`;
}

function NewKeyForm({ form, frame }: Pick<ApiKeysPageProps, "form" | "frame">) {
  const { values, fields, message } = form;
  return (
    <Form
      class="new-key"
      action="/portal/api-keys"
      error={message}
      hidden={aboutOrganization(frame.session)}
    >
      <div class="row half">
        <NameField
          label="Name"
          value={values.name}
          placeholder="For example: Production"
          error={fields["name"]}
          autocomplete="off"
          charactersMax={apiKeyNameCharactersMax}
        />
        <ExpiryField value={values.expires} error={fields["expires"]} />
      </div>
      <div class="row two">
        <PermissionFields chosen={values.permissions} error={fields["permissions"]} />
        <SubmitButton>Create key</SubmitButton>
      </div>
    </Form>
  );
}

function OldKeyText({ replaced, now }: { replaced: NewKey["replaced"]; now: number }) {
  if (replaced === null) return null;
  if (replaced.endsAt === null) return <>{" The old key no longer works."}</>;
  return (
    <>
      {" The old key stops working "}
      <RelativeTime at={replaced.endsAt} now={now} />
      {"."}
    </>
  );
}
