// The pages that create API keys: the form, rotation, and the wait for the first request. A new key is shown only in the response
// to its form, which is never cached.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import type { ExampleUsage } from "../../domain/meter/catalogue.ts";
import { isoTime } from "../../domain/time.ts";
import {
  createApiKey,
  type CreatedApiKey,
  FormSentError,
  getApiKey,
  readDefaultBudget,
  rotateApiKey,
} from "../../services/keys/mod.ts";
import { readExampleUsage, readUsage } from "../../services/meter/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { exampleCurl, NewSecret } from "../../views/components/code.tsx";
import { CodeExample } from "../../views/components/code_example.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { TestBadge } from "../../views/components/environment.tsx";
import { defaultGrace, graceChoices, graces } from "../../views/components/expiry_field.tsx";
import { RadioGroup } from "../../views/components/field.tsx";
import { apiKeyHref, managesAllKeys } from "../../views/components/key_name.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { RelativeTime } from "../../views/components/relative_time.tsx";
import { ExpiryText } from "../../views/keys/api_key_table.tsx";
import { FirstRequestCard, firstRequestPage } from "../../views/keys/first_request.tsx";
import { NewApiKeyForm } from "../../views/keys/new_api_key_form.tsx";
import { PermissionList } from "../../views/keys/permission_fields.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import type { App, AppContext } from "../env.ts";
import { aboutKey } from "./about_key.tsx";
import { timeAfter } from "../portal/expiry.ts";
import { mountForm, type Viewer } from "../portal/form.ts";
import { inTime } from "../portal/in_time.ts";
import { accessErrors, formTokenOf, newFormToken, newKeyOf, newKeyValues } from "./key_form.ts";
import { budgetRows, chosenBudget } from "./key_budget.ts";
import { firstRequestOf, keyReport } from "./key_report.ts";
import { mountFormPage, paramOf } from "../portal/noun_pages.ts";
import { type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { organizationForms, organizationNounPages, organizationPages } from "../portal/viewer.ts";

const path = "/api-keys";
const listOf = ({ base }: PortalFrame) => ({ href: base + path, label: "API keys" });
const place = "api-keys";

export function newApiKeyPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(organizationForms(app, parts), {
    path: `${path}/new`,
    async show(c, { access, frame }, { input, fields, message, status }) {
      const budget = managesAllKeys(frame) && !frame.isReadOnly
        ? await budgetRows(parts, access, {
          input,
          fields,
          budget: await readDefaultBudget(services, access),
        })
        : undefined;
      const text = frame.viewed === null
        ? "Your programs use the key to record and read usage."
        : "Members see it in their list as created by the operator.";
      const form = (
        <>
          <PageHead back={listOf(frame)} title="Create key" text={text} />
          <NewApiKeyForm
            frame={frame}
            values={newKeyValues(input)}
            fields={fields}
            accessErrors={accessErrors(fields)}
            budget={budget}
            message={message}
            canCancel
          />
        </>
      );
      const page = (
        <PortalPage title="Create key" frame={frame} place={place}>
          {budget === undefined ? <div class="ask">{form}</div> : form}
        </PortalPage>
      );
      return sendPage(c, page, status);
    },
    submit: (c, viewer, input) =>
      showCreated(
        c,
        { parts, viewer, replaced: null },
        async () => {
          const { access } = viewer;
          const key = await newKeyOf(parts, input);
          const budget = await chosenBudget(parts, access, key.budget);
          return await createApiKey(services, access, { ...key, budget });
        },
      ),
  });
  mountRotation(app, parts);
  organizationPages(app, parts).get(`${path}/:keyId/first-request`, async (c, { access, frame }) => {
    const apiKey = await getApiKey(services, access, paramOf(c, "keyId"));
    const request = await firstRequestOf(parts, apiKey);
    const report = request.isUsed ? await keyReport(parts, access, apiKey.id) : null;
    return sendPage(c, firstRequestPage({ frame, apiKey, request, record: report?.lastRecord }));
  });
}

function mountRotation(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(organizationNounPages(app, parts, { place, path, label: "API keys" }), {
    path: `${path}/:keyId/rotate`,
    async show(c, form, { access, frame }) {
      const apiKey = await getApiKey(services, access, paramOf(c, "keyId"));
      if ((apiKey.status !== "active" || !apiKey.enabled) && form.input === undefined) {
        return redirect(c, apiKeyHref(frame.base, apiKey.id));
      }
      const apiKeyIds = [apiKey.id];
      const lastUsage = await inTime((signal) =>
        readUsage(services, access, { job: "readLastUsage", query: { apiKeyIds }, signal })
      );
      const lastUsageAt = lastUsage === null ? undefined : lastUsage.get(apiKey.id) ?? null;
      const { fields, field, ...page } = form;
      const formToken = form.input?.["formToken"] ?? newFormToken();
      return (
        <ConfirmPage
          {...page}
          {...aboutKey(form, apiKey, lastUsageAt)}
          hidden={{ ...form.hidden, formToken }}
          title="Rotate key"
          heading="Rotate “{name}”"
          text="Creates a new key with the same name and permissions. The old one keeps working until the time you choose."
          submit="Create new key"
          tone="primary"
          error={null}
        >
          <RadioGroup
            label="When should the old key stop working?"
            {...field("expireOld", defaultGrace)}
            choices={graceChoices(
              "Only if it may have leaked. Requests fail until every program has the new key.",
            )}
            error={form.error ?? fields["id"] ?? fields["expireOld"]}
          />
        </ConfirmPage>
      );
    },
    async submit(c, viewer, input) {
      const { access } = viewer;
      const { id, expiresAt } = await getApiKey(services, access, paramOf(c, "keyId"));
      const chosen = timeAfter(services.clock(), graces, { expireOld: input["expireOld"] ?? defaultGrace });
      const expireOldAt = chosen ?? "now";
      const ownEnd = expiresAt === null ? Infinity : Date.parse(expiresAt);
      const replaced = { endsAt: chosen === null ? null : isoTime(Math.min(chosen, ownEnd)) };
      const formToken = formTokenOf(input);
      return await showCreated(
        c,
        { parts, viewer, replaced },
        () => rotateApiKey(services, access, { id, expireOldAt, formToken }),
      );
    },
  });
}

/** After a rotation: when the old key expires (ISO 8601), null if it is revoked. */
type Replaced = { readonly endsAt: string | null } | null;

/** Shows the key that a form creates or, if it was sent before, has created. */
async function showCreated(
  c: AppContext,
  { parts: { services, config }, viewer: { access, frame }, replaced }: {
    parts: PortalParts;
    viewer: Viewer;
    replaced: Replaced;
  },
  create: () => Promise<CreatedApiKey>,
): Promise<Response> {
  // Before there is a key: a failure afterwards would lose its only copy.
  const usage = await readExampleUsage(services);
  try {
    const { apiKey, fullKey } = await create();
    // Reloading the page, or going back to it, must not send the form again.
    c.header("HX-Push-Url", apiKeyHref(frame.base, apiKey.id));
    const curl = exampleCurl(`${config.baseUrl.origin}/api/v1/usage`, usage, fullKey);
    const page = createdKeyPage({ frame, apiKey, fullKey, replaced, curl, usage });
    return await sendPage(c, page, 201);
  } catch (error) {
    if (!(error instanceof FormSentError)) throw error;
    const apiKey = await getApiKey(services, access, error.apiKeyId);
    return await sendPage(c, formSentPage({ frame, apiKey }), 409);
  }
}

const noRequest = { isUsed: false, last: null, isAwaited: true };

function createdKeyPage({ frame, apiKey, fullKey, replaced, curl, usage }: {
  frame: PortalFrame;
  apiKey: ApiKey;
  fullKey: string;
  replaced: Replaced;
  /** A command that records usage. */
  curl: string;
  usage: ExampleUsage;
}) {
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
              samples={[{ language: "sh", code: curl }]}
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

function OldKeyText({ replaced, now }: { replaced: Replaced; now: number }) {
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
function formSentPage({ frame, apiKey }: { frame: PortalFrame; apiKey: ApiKey }) {
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
