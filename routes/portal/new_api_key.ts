// The pages that create API keys: the form, rotation, and the wait for the first request. A new key is shown only in the response
// to its form, which is never cached.
import { presentation } from "../../domain/presentation.ts";
import { isoTime } from "../../domain/time.ts";
import type { ApiKey } from "../../domain/keys/api_key.ts";
import type { Access } from "../../services/access/mod.ts";
import {
  createApiKey,
  type CreatedApiKey,
  FormSentError,
  getApiKey,
  rotateApiKey,
} from "../../services/keys/mod.ts";
import type { KeyReportQuery } from "../../services/meter/jobs/mod.ts";
import { readExampleUsage, readLastRequest, readUsage, wasAccepted } from "../../services/meter/mod.ts";
import { rotateApiKeyPage } from "../../views/keys/api_key_forms.tsx";
import { defaultGrace, graces } from "../../views/components/expiry_field.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import { type FirstRequest, firstRequestPage } from "../../views/keys/first_request.tsx";
import {
  createdKeyPage,
  type CreatedKeyProps,
  formSentPage,
  newApiKeyPage,
} from "../../views/keys/new_api_key.tsx";
import type { App, AppContext } from "../env.ts";
import { timeAfter } from "./expiry.ts";
import { mountForm, type Viewer } from "./form.ts";
import { inTime } from "./in_time.ts";
import { formTokenOf, keyIdOf, newFormToken, newKeyOf, newKeyValues } from "./key_form.ts";
import { mountFormPage } from "./noun_pages.ts";
import { type PortalParts, redirect, sendPage } from "./page.ts";
import { organizationForms, organizationNounPages, organizationPages } from "./viewer.ts";

const path = "/api-keys";
/** The time that a page looks for the first request with a new key. */
const firstRequestWaitMs = 15 * 60_000;

export function newApiKeyPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(organizationForms(app, parts), {
    path: `${path}/new`,
    show(c, { frame }, { input, fields, message, status }) {
      return sendPage(c, newApiKeyPage({ frame, values: newKeyValues(input), fields, message }), status);
    },
    submit: (c, viewer, input) =>
      showCreated(
        c,
        { parts, viewer, replaced: null },
        async () => createApiKey(services, viewer.access, await newKeyOf(input, services.clock())),
      ),
  });
  mountRotation(app, parts);
  organizationPages(app, parts).get(`${path}/:keyId/first-request`, async (c, { access, frame }) => {
    const apiKey = await getApiKey(services, access, keyIdOf(c));
    const request = await firstRequestOf(parts, apiKey);
    const report = request.isUsed
      ? await keyReport(parts, access, { apiKeyId: apiKey.id, metric: null })
      : null;
    return sendPage(c, firstRequestPage({ frame, apiKey, request, record: report?.lastRecord }));
  });
}

function mountRotation(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountFormPage(organizationNounPages(app, parts, { place: "api-keys", path, label: "API keys" }), {
    path: `${path}/:keyId/rotate`,
    async show(c, form, { access, frame }) {
      const apiKey = await getApiKey(services, access, keyIdOf(c));
      if (apiKey.status !== "active" && form.input === undefined) {
        return redirect(c, apiKeyHref(frame.base, apiKey.id));
      }
      const apiKeyIds = [apiKey.id];
      const lastUsage = await inTime((signal) =>
        readUsage(services, access, { job: "readLastUsage", query: { apiKeyIds }, signal })
      );
      return rotateApiKeyPage(form, {
        apiKey,
        lastUsageAt: lastUsage === null ? undefined : lastUsage.get(apiKey.id) ?? null,
        formToken: form.input?.["formToken"] ?? newFormToken(),
      });
    },
    async submit(c, viewer, input) {
      const { access } = viewer;
      const { id, expiresAt } = await getApiKey(services, access, keyIdOf(c));
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

/** Shows the key that a form creates or, if it was sent before, has created. */
async function showCreated(
  c: AppContext,
  { parts: { services, config }, viewer: { access, frame }, replaced }: Pick<CreatedKeyProps, "replaced"> & {
    parts: PortalParts;
    viewer: Viewer;
  },
  create: () => Promise<CreatedApiKey>,
): Promise<Response> {
  // Before there is a key: a failure afterwards would lose its only copy.
  const usage = await readExampleUsage(services);
  try {
    const { apiKey, fullKey } = await create();
    // Reloading the page, or going back to it, must not send the form again.
    c.header("HX-Push-Url", apiKeyHref(frame.base, apiKey.id));
    const page = createdKeyPage({
      frame,
      apiKey,
      fullKey,
      replaced,
      usageUrl: `${config.baseUrl.origin}/api/v1/usage`,
      usage,
    });
    return await sendPage(c, page, 201);
  } catch (error) {
    if (!(error instanceof FormSentError)) throw error;
    const apiKey = await getApiKey(services, access, error.apiKeyId);
    return await sendPage(c, formSentPage({ frame, apiKey }), 409);
  }
}

/** Finds out whether the first request with a key has arrived. */
export async function firstRequestOf({ services }: PortalParts, apiKey: ApiKey): Promise<FirstRequest> {
  const isAwaited = services.clock() - Date.parse(apiKey.createdAt) < firstRequestWaitMs;
  const last = await readLastRequest(services, [apiKey]);
  // A rejected request is a use, too, but not what a new key waits for.
  const isUsed = apiKey.lastUsedAt !== null && (!isAwaited || await wasAccepted(services, apiKey, last));
  return { isUsed, last, isAwaited };
}

/** Reads the usage of a key. @returns Null if it is not available. */
export function keyReport(
  { services }: PortalParts,
  access: Access,
  query: Omit<KeyReportQuery, "timezone">,
) {
  const { timezone } = presentation();
  return inTime((signal) =>
    readUsage(services, access, { job: "readKeyReport", query: { ...query, timezone }, signal })
  );
}
