// The pages that create API keys: the form, rotation, and the wait for the first request. A new key is shown only in the response
// to its form, which is never cached.
import { isoTime } from "../../domain/time.ts";
import { type ApiKey, rotatedKeyKeptMs } from "../../domain/api_key.ts";
import { getApiKey } from "../../services/api_keys.ts";
import {
  createApiKey,
  type CreatedApiKey,
  FormSentError,
  rotateApiKey,
} from "../../services/new_api_keys.ts";
import type { KeyReportQuery } from "../../services/reports/jobs/key_report.ts";
import { readLastRequest, wasAccepted } from "../../services/meter/last_requests.ts";
import { activeAccess } from "../../services/access.ts";
import { readExampleUsage, readKeyReport } from "../../services/meter/usage.ts";
import { rotateApiKeyPage } from "../../views/api_keys/api_key.tsx";
import { apiKeyHref } from "../../views/components/key_name.tsx";
import { type FirstRequest, firstRequestPage } from "../../views/api_keys/first_request.tsx";
import {
  createdKeyPage,
  type CreatedKeyProps,
  formSentPage,
  newApiKeyPage,
} from "../../views/api_keys/new_api_key.tsx";
import type { App, AppContext } from "../env.ts";
import { timeAfter } from "./expiry.ts";
import { mountForm } from "./form.ts";
import { inTime } from "./in_time.ts";
import { formTokenOf, newFormToken, newKeyOf, newKeyValues } from "./key_form.ts";
import { type MemberActor, memberRoutes, portalFrame, type PortalParts, redirect, sendPage } from "./page.ts";

const path = "/portal/api-keys";
const hourMs = 3_600_000;

/** How long the old key works after a rotation. Null: it stops immediately. */
const graces: ReadonlyMap<string, number | null> = new Map([
  ["1h", hourMs],
  ["24h", rotatedKeyKeptMs],
  ["7d", 7 * 24 * hourMs],
  ["now", null],
]);
const defaultGrace = "24h";
/** How long a page looks for the first request with a new key. */
const firstRequestWaitMs = 15 * 60_000;

/** Mounts `/portal/api-keys/new`, `/portal/api-keys/:id/rotate` and `/portal/api-keys/:id/first-request`. */
export function portalNewApiKeyRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/new`,
    show(c, session, { input, fields, message, status }) {
      const frame = portalFrame(parts, session);
      return sendPage(c, newApiKeyPage({ frame, values: newKeyValues(input), fields, message }), status);
    },
    submit: (c, session, input) =>
      showCreated(
        c,
        { parts, session, replaced: null },
        () => createApiKey(services, session, newKeyOf(input, services.clock())),
      ),
  });
  rotateRoutes(app, parts);
  memberRoutes(app, parts).get(`${path}/:id/first-request`, async (c, session) => {
    const apiKey = await getApiKey(services, session, idOf(c));
    const request = await firstRequestOf(parts, apiKey);
    const report = request.isUsed
      ? await keyReport(parts, session, { apiKeyId: apiKey.id, metric: null })
      : null;
    const record = report?.lastRecord;
    return sendPage(c, firstRequestPage({ frame: portalFrame(parts, session), apiKey, request, record }));
  });
}

function rotateRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/:id/rotate`,
    async show(c, session, { input, message, fields, status }) {
      const apiKey = await getApiKey(services, session, idOf(c));
      if (apiKey.status !== "active" && input === undefined) return redirect(c, apiKeyHref(apiKey.id));
      const error = message ?? fields["id"];
      const page = rotateApiKeyPage({
        frame: portalFrame(parts, session),
        apiKey,
        value: input?.["expireOld"] ?? defaultGrace,
        formToken: input?.["formToken"] ?? newFormToken(),
        fields: error === undefined ? fields : { expireOld: error },
      });
      return await sendPage(c, page, status);
    },
    async submit(c, session, input) {
      const { id, expiresAt } = await getApiKey(services, session, idOf(c));
      const chosen = timeAfter(services.clock(), graces, { expireOld: input["expireOld"] ?? defaultGrace });
      const expireOldAt = chosen ?? "now";
      const ownEnd = expiresAt === null ? Infinity : Date.parse(expiresAt);
      const replaced = { endsAt: chosen === null ? null : isoTime(Math.min(chosen, ownEnd)) };
      const formToken = formTokenOf(input);
      return await showCreated(
        c,
        { parts, session, replaced },
        () => rotateApiKey(services, session, { id, expireOldAt, formToken }),
      );
    },
  });
}

/** Shows the key that a form creates or, if it was sent before, has created. */
async function showCreated(
  c: AppContext,
  { parts, session, replaced }: Pick<CreatedKeyProps, "replaced"> & {
    parts: PortalParts;
    session: MemberActor;
  },
  create: () => Promise<CreatedApiKey>,
): Promise<Response> {
  const { services, config } = parts;
  const frame = portalFrame(parts, session);
  // Before there is a key: a failure afterwards would lose its only copy.
  const usage = await readExampleUsage(services);
  try {
    const { apiKey, fullKey } = await create();
    // Reloading the page, or going back to it, must not send the form again.
    c.header("HX-Push-Url", apiKeyHref(apiKey.id));
    const page = createdKeyPage({
      frame,
      apiKey,
      fullKey,
      replaced,
      usageUrl: `${config.baseUrl.origin}/api/v1/usage`,
      usage,
      firstRequest: { isUsed: false, last: null, isAwaited: true },
    });
    return await sendPage(c, page, 201);
  } catch (error) {
    if (!(error instanceof FormSentError)) throw error;
    return await sendPage(
      c,
      formSentPage({ frame, apiKey: await getApiKey(services, session, error.apiKeyId) }),
      409,
    );
  }
}

/** @returns What has arrived of the first request with a key. */
export async function firstRequestOf({ services }: PortalParts, apiKey: ApiKey): Promise<FirstRequest> {
  const isAwaited = services.clock() - Date.parse(apiKey.createdAt) < firstRequestWaitMs;
  const last = await readLastRequest(services, [apiKey]);
  // A rejected request is a use, too, but not what a new key waits for.
  const isUsed = apiKey.lastUsedAt !== null && (!isAwaited || await wasAccepted(services, apiKey, last));
  return { isUsed, last, isAwaited };
}

/** @returns The usage of a key; null if it is not available. */
export function keyReport({ services }: PortalParts, session: MemberActor, query: KeyReportQuery) {
  return inTime((signal) => readKeyReport(services, activeAccess(session), { query, signal }));
}

function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}
