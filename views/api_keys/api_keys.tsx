// The page of an organization's API keys: the new key, once; the form that makes one; the list.
import { FormOrganization } from "../organization/form_organization.tsx";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { type ApiKeyRow, ApiKeyTable } from "./api_key_table.tsx";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { type Choice, SelectField, TextField } from "../components/field.tsx";
import { type NewKey, NewKeyNotice } from "./new_key_notice.tsx";
import { Notice } from "../components/notice.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { groupDigits } from "../../domain/number_text.ts";

export type { ApiKeyRow, NewKey };

/** What the page shows. */
export interface ApiKeysPageProps {
  readonly frame: PortalFrame;
  readonly apiKeys: readonly ApiKeyRow[];
  readonly counts: { readonly active: number; readonly inactive: number };
  /** Where the next page of the list begins. */
  readonly nextCursor: string | null;
  readonly newKey: NewKey | null;
  readonly form: {
    readonly values: { readonly name: string; readonly expires: string };
    readonly fieldErrors: Readonly<Record<string, string>>;
    readonly error: string | null;
  };
  /** The full address of `POST /api/v1/usage`. */
  readonly usageUrl: string;
  /** What was just done, in one sentence: “Production” is revoked. */
  readonly flash: string | null;
}

const expiryChoices: readonly Choice[] = [
  { value: "never", label: "Never" },
  { value: "7d", label: "In 7 days" },
  { value: "30d", label: "In 30 days" },
  { value: "90d", label: "In 90 days" },
  { value: "365d", label: "In a year" },
];

/** @returns The page of the organization's keys. */
export function apiKeysPage(props: ApiKeysPageProps): Page {
  const { frame, newKey, flash, nextCursor } = props;
  return (
    <PortalPage title="API keys" frame={frame} place="api-keys">
      <div class="head">
        <h1>API keys</h1>
        <p class="muted">
          Your programs use a key to record usage. We store only its SHA-256 and first characters, so a key is
          shown once; a lost one is revoked and replaced. A revoked key stops at the very next request.{" "}
          <a href="/docs" hx-boost="false">What a key can do</a>
        </p>
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      {newKey === null ? null : <NewKeyNotice newKey={newKey} usageUrl={props.usageUrl} now={frame.now} />}
      <Card title="New key">
        <NewKeyForm form={props.form} frame={frame} />
      </Card>
      <Card title={listTitle(frame)} aside={<Counts {...props.counts} />} flush>
        {props.apiKeys.length === 0
          ? <EmptyState title="No keys yet" text="Create one above: it takes a name and one click." />
          : <ApiKeyTable apiKeys={props.apiKeys} now={frame.now} />}
      </Card>
      {nextCursor === null ? null : (
        <nav class="pages" aria-label="Pages">
          <ButtonLink href={`/portal/api-keys?cursor=${encodeURIComponent(nextCursor)}`}>
            Older keys
          </ButtonLink>
        </nav>
      )}
    </PortalPage>
  );
}

function NewKeyForm({ form, frame }: Pick<ApiKeysPageProps, "form" | "frame">) {
  const { values, fieldErrors, error } = form;
  return (
    <form class="new-key" method="post" action="/portal/api-keys" hx-disable="find button">
      <FormOrganization session={frame.session} />
      {error === null ? null : <Notice tone="refused" text={error} />}
      <div class="row">
        <TextField
          label="Name"
          name="name"
          value={values.name}
          placeholder="For example: Production"
          error={fieldErrors["name"]}
          autocomplete="off"
          required
          maxlength={apiKeyNameCharactersMax}
        />
        <SelectField
          label="Expires"
          name="expires"
          value={values.expires}
          choices={expiryChoices}
          error={fieldErrors["expires"]}
        />
        <SubmitButton>Create key</SubmitButton>
      </div>
    </form>
  );
}

function Counts({ active, inactive }: ApiKeysPageProps["counts"]) {
  return <p class="muted small">{`${groupDigits(active)} active · ${groupDigits(inactive)} inactive`}</p>;
}

function listTitle({ session }: PortalFrame): string {
  return session.organization === null ? "Keys" : `Keys of ${session.organization.name}`;
}
