// The pages around a new API key: the form, the key with a first request, and the message for a form that was already sent.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import type { ExampleUsage } from "../../domain/meter/catalogue.ts";
import { apiKeyNameCharactersMax } from "../../domain/limits.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { exampleCurl, NewSecret } from "../components/code.tsx";
import { CodeExample } from "../components/code_example.tsx";
import { TestBadge } from "../components/environment.tsx";
import { ExpiryField, type ExpiryValue } from "../components/expiry_field.tsx";
import { NameField, RadioGroup } from "../components/field.tsx";
import { aboutOrganization, errorAt, Form, type FormErrors } from "../components/form.tsx";
import { apiKeyHref } from "../components/key_name.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { ExpiryText } from "./api_key_table.tsx";
import { FirstRequestCard } from "./first_request.tsx";
import { type PermissionChoice, PermissionFields, PermissionList } from "./permission_fields.tsx";

const place = "api-keys";

export interface NewKeyValues {
  readonly name: string;
  /** The environment as chosen in the form. */
  readonly environment: string;
  readonly expiry: ExpiryValue;
  readonly permissions: PermissionChoice;
  /** The one-time token: sending the form again creates no second key. */
  readonly formToken: string;
}

interface NewApiKeyFormProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly values: NewKeyValues;
}

export function newApiKeyPage(props: NewApiKeyFormProps): Page {
  const text = props.frame.viewed === null
    ? "Your programs use the key to record and read usage."
    : "Members see it in their list as created by the operator.";
  return (
    <PortalPage title="Create key" frame={props.frame} place={place}>
      <div class="ask">
        <PageHead back={listOf(props.frame)} title="Create key" text={text} />
        <NewApiKeyForm {...props} canCancel />
      </div>
    </PortalPage>
  );
}

function listOf({ base }: PortalFrame) {
  return { href: `${base}/api-keys`, label: "API keys" };
}

/** The form that creates a key. Without `canCancel`, it is the first key's on the page of a list without keys. */
export function NewApiKeyForm(
  { frame, values, fields, message, canCancel = false }: NewApiKeyFormProps & { canCancel?: boolean },
) {
  const list = listOf(frame).href;
  return (
    <Form
      class="card"
      action={`${list}/new`}
      hidden={{ ...aboutOrganization(frame), formToken: values.formToken }}
    >
      {!canCancel && (
        <header>
          <h2>Create your first key</h2>
        </header>
      )}
      <div class="body">
        <Notice tone="error" text={message} />
        <div class="row half">
          <NameField
            label="Name"
            value={values.name}
            placeholder="For example: Production"
            {...errorAt(fields, "name")}
            autocomplete="off"
            charactersMax={apiKeyNameCharactersMax}
            autofocus={canCancel}
          />
          <ExpiryField value={values.expiry} fields={fields} now={frame.now} />
        </div>
        <RadioGroup
          label="Environment"
          name="environment"
          value={values.environment}
          error={fields["environment"]}
          choices={[
            { value: "live", label: "Live", hint: "Usage is on statements and counts against limits." },
            {
              value: "test",
              label: "Test",
              hint:
                "Usage is kept apart: on no statement, and against no limit. This can't be changed later.",
            },
          ]}
        />
        <PermissionFields
          chosen={values.permissions}
          error={fields["permissions"]}
          hasVoid={frame.viewed !== null}
        />
      </div>
      <footer>
        <SubmitButton>Create key</SubmitButton>
        {canCancel && <ButtonLink href={list}>Cancel</ButtonLink>}
      </footer>
    </Form>
  );
}

export interface CreatedKeyProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
  readonly fullKey: string;
  /** After a rotation: when the old key expires (ISO 8601), null if it is revoked. */
  readonly replaced: { readonly endsAt: string | null } | null;
  /** The URL of `POST /api/v1/usage`. */
  readonly usageUrl: string;
  /** Usage of the example request. */
  readonly usage: ExampleUsage;
}

const noRequest = { isUsed: false, last: null, isAwaited: true };

export function createdKeyPage(props: CreatedKeyProps): Page {
  const { frame, apiKey, fullKey, replaced, usage } = props;
  return (
    <PortalPage title={apiKey.name} frame={frame} place={place}>
      <PageHead
        back={listOf(frame)}
        title="{name}"
        name={apiKey.name}
        text="Copy the key, send one request, and you are done."
      >
        <div class="acts">
          <ButtonLink href={apiKeyHref(frame.base, apiKey.id)}>Done</ButtonLink>
        </div>
      </PageHead>
      <div class="columns aside">
        <div class="stacked">
          <NewSecret
            what="key"
            name={apiKey.name}
            value={fullKey}
            text={<OldKeyText replaced={replaced} now={frame.now} />}
          />
          <Card title="Send a test request">
            <CodeExample
              id="new-key-curl"
              title="Record usage"
              samples={[{ language: "sh", code: exampleCurl(props.usageUrl, usage, fullKey) }]}
            />
            <p class="small muted">
              This records a quantity of 1 for the product <code>{usage.productSlug}</code>.
              {apiKey.environment === "test" ? " It is test usage." : " It counts like any other."}
            </p>
          </Card>
          <FirstRequestCard frame={frame} apiKeyId={apiKey.id} request={noRequest} />
        </div>
        <div class="stacked">
          <Card title="Details">
            <KeyDetails apiKey={apiKey} now={frame.now} />
          </Card>
          <Card title="Keep it safe">
            <p class="small muted">
              Keep the key on your servers. Don't put it into a browser, an app or a repository.
            </p>
            <p class="small muted">
              If it leaks, rotate it: you get a new key with the same name, and the old one stops working when
              you choose.
            </p>
          </Card>
        </div>
      </div>
    </PortalPage>
  );
}

function KeyDetails({ apiKey, now }: { apiKey: ApiKey; now: number }) {
  return (
    <dl class="details">
      <dt>Name</dt>
      <dd>
        <bdi>{apiKey.name}</bdi>
      </dd>
      <dt>Key</dt>
      <dd>
        <code>{apiKey.keyPrefix}</code> <TestBadge {...apiKey} />
      </dd>
      <dt>Permissions</dt>
      <dd>
        <PermissionList permissions={apiKey.permissions} />
      </dd>
      <dt>Expires</dt>
      <dd>
        <ExpiryText apiKey={apiKey} now={now} />
      </dd>
    </dl>
  );
}

function OldKeyText({ replaced, now }: { replaced: CreatedKeyProps["replaced"]; now: number }) {
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

/** The page after a form was sent again, with the key that it has created. */
export function formSentPage({ frame, apiKey }: { frame: PortalFrame; apiKey: ApiKey }): Page {
  return (
    <PortalPage title="Key already created" frame={frame} place={place}>
      <div class="ask">
        <PageHead
          back={listOf(frame)}
          title="This key was already created"
          text="The form was sent twice but created only one key. A key is shown only once; if you haven't copied it, rotate it."
        />
        <div class="card">
          <div class="body">
            <KeyDetails apiKey={apiKey} now={frame.now} />
          </div>
          <footer>
            <ButtonLink tone="primary" href={apiKeyHref(frame.base, apiKey.id)}>View key</ButtonLink>
            {apiKey.status === "active" && (
              <ButtonLink href={apiKeyHref(frame.base, apiKey.id, "rotate")}>Rotate</ButtonLink>
            )}
          </footer>
        </div>
      </div>
    </PortalPage>
  );
}
