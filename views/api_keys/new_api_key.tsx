// The pages around a new API key: the form, the key with a first request, and what a form says that was sent before.
import type { ApiKey } from "../../domain/api_key.ts";
import type { ExampleUsage } from "../../domain/meter/catalogue.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { exampleCurl, NewSecret } from "../components/code.tsx";
import { CodeExample } from "../components/code_example.tsx";
import { aboutOrganization, Form, type FormErrors } from "../components/form.tsx";
import { apiKeyHref } from "../components/key_name.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { ExpiryText } from "./api_key_table.tsx";
import { type FirstRequest, FirstRequestCard } from "./first_request.tsx";
import { NewKeyFields, type NewKeyValues } from "./new_key_fields.tsx";
import { PermissionList } from "./permission_fields.tsx";

const place = "api-keys";
const keysHref = "/portal/api-keys";
const toList = { href: keysHref, label: "API keys" };
const newKeyHref = `${keysHref}/new`;

/** The form in a card of its own. */
export interface NewApiKeyFormProps extends FormErrors {
  readonly frame: PortalFrame;
  readonly values: NewKeyValues;
}

/** @returns The page that creates a key. */
export function newApiKeyPage(props: NewApiKeyFormProps): Page {
  return (
    <PortalPage title="Create key" frame={props.frame} place={place}>
      <div class="ask">
        <PageHead
          back={toList}
          title="Create key"
          text="Your programs use the key to record and read usage."
        />
        <NewApiKeyForm {...props} canCancel />
      </div>
    </PortalPage>
  );
}

/** The form that creates a key, for pages that have nothing to cancel. */
export function NewApiKeyForm(
  { frame, values, fields, message, canCancel = false }: NewApiKeyFormProps & { canCancel?: boolean },
) {
  return (
    <Form class="card" action={newKeyHref} hidden={aboutOrganization(frame)}>
      {!canCancel && (
        <header>
          <h2>Create your first key</h2>
        </header>
      )}
      <div class="body">
        <Notice tone="refused" text={message} />
        <NewKeyFields values={values} fields={fields} now={frame.now} autofocus={canCancel} />
      </div>
      <footer>
        <SubmitButton>Create key</SubmitButton>
        {canCancel && <ButtonLink href={keysHref}>Cancel</ButtonLink>}
      </footer>
    </Form>
  );
}

/** A key that was just created. */
export interface CreatedKeyProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
  readonly fullKey: string;
  /** After a rotation: when the old key expires (ISO 8601), null if it is revoked. */
  readonly replaced: { readonly endsAt: string | null } | null;
  /** The full address of `POST /api/v1/usage`. */
  readonly usageUrl: string;
  /** What the test request records. */
  readonly usage: ExampleUsage;
  readonly firstRequest: FirstRequest;
}

/** @returns The page with the full key, which is shown only once. */
export function createdKeyPage(props: CreatedKeyProps): Page {
  const { frame, apiKey, fullKey, replaced, usage } = props;
  return (
    <PortalPage title={apiKey.name} frame={frame} place={place}>
      <PageHead
        back={toList}
        title="{name}"
        name={apiKey.name}
        text="Copy the key, send one request, and you are done."
      >
        <div class="acts">
          <ButtonLink href={apiKeyHref(apiKey.id)}>Done</ButtonLink>
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
              This records a quantity of 1 for the product{" "}
              <code>{usage.productSlug}</code>. It counts like any other.
            </p>
          </Card>
          <FirstRequestCard apiKeyId={apiKey.id} request={props.firstRequest} />
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
        <code>{apiKey.keyPrefix}</code>
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

/** @returns The page after a form was sent again, with the key that it has created. */
export function formSentPage({ frame, apiKey }: { frame: PortalFrame; apiKey: ApiKey }): Page {
  return (
    <PortalPage title="Key already created" frame={frame} place={place}>
      <div class="ask">
        <PageHead
          back={toList}
          title="This key was already created"
          text="The form was sent twice but created only one key. A key is shown only once; if you haven't copied it, rotate it."
        />
        <div class="card">
          <div class="body">
            <KeyDetails apiKey={apiKey} now={frame.now} />
          </div>
          <footer>
            <ButtonLink tone="primary" href={apiKeyHref(apiKey.id)}>View key</ButtonLink>
            {apiKey.status === "active" && (
              <ButtonLink href={apiKeyHref(apiKey.id, "rotate")}>Rotate</ButtonLink>
            )}
          </footer>
        </div>
      </div>
    </PortalPage>
  );
}
