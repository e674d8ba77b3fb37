// The pages of API keys. The page that shows a new key is the answer to the POST itself, once, and no cache keeps it.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { apiKeyCountsTimeoutMs, pageItemsDefault } from "../../domain/limits.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import { isoTime } from "../../domain/time.ts";
import { countUsageOfApiKeys } from "../../services/meter/usage.ts";
import {
  countApiKeys,
  createApiKey,
  getApiKey,
  listApiKeys,
  renameApiKey,
  revokeApiKey,
  rotateApiKey,
} from "../../services/api_keys.ts";
import { type ApiKeyRow, apiKeysPage, type NewKey } from "../../views/api_keys/api_keys.tsx";
import type { Assets } from "../../views/layout.tsx";
import { renameApiKeyPage } from "../../views/api_keys/rename_api_key.tsx";
import { revokeApiKeyPage } from "../../views/api_keys/revoke_api_key.tsx";
import { rotateApiKeyPage } from "../../views/api_keys/rotate_api_key.tsx";
import { check } from "../schemas/check.ts";
import { renameApiKeySchema } from "../schemas/api_keys.ts";
import { readFormBody } from "../body.ts";
import type { App, AppContext, AppParts } from "../env.ts";
import { AppError, validationError } from "../../domain/errors.ts";
import { formError } from "./errors.ts";
import { inOrganization, portalFrame, readOrganizationForm, redirect, sendPage } from "./page.ts";

const path = "/portal/api-keys";
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const sparklineDays = 30;

/** The choices of the form, with what they mean in milliseconds; null: never. */
const lifetimes: ReadonlyMap<string, number | null> = new Map([
  ["never", null],
  ["7d", 7 * dayMs],
  ["30d", 30 * dayMs],
  ["90d", 90 * dayMs],
  ["365d", 365 * dayMs],
]);
const graces: ReadonlyMap<string, number | null> = new Map([
  ["now", null],
  ["1h", hourMs],
  ["24h", dayMs],
  ["7d", 7 * dayMs],
]);
const flashes: ReadonlyMap<string, string> = new Map([
  ["revoked", "The key is revoked. It is refused from now on."],
  ["renamed", "The key has its new name."],
]);

/** What is shown of the list when it could not be read. */
const nothingRead = [
  { apiKeys: [], nextCursor: null },
  { active: 0, inactive: 0 },
] as const;

/** What the list page shows beyond the list. */
interface ListOptions {
  readonly newKey?: NewKey;
  readonly form?: {
    values: { name: string; expires: string };
    fieldErrors: Record<string, string>;
    error: string | null;
  };
  readonly status?: ContentfulStatusCode;
}

/** Mounts `/portal/api-keys`. */
export function portalApiKeyRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const { clock } = services;
  const usageUrl = `${parts.config.baseUrl.origin}/api/v1/usage`;
  const emptyForm = { values: { name: "", expires: "never" }, fieldErrors: {}, error: null };

  async function list(c: AppContext, session: Session, options: ListOptions = {}): Promise<Response> {
    const cursor = c.req.method === "GET" ? c.req.query("cursor") : undefined;
    const page = { limit: pageItemsDefault, ...(cursor === undefined ? {} : { cursor }) };
    const reading = Promise.all([listApiKeys(services, session, page), countApiKeys(services, session)]);
    // A new key is shown even when the list cannot be read now: there is no second time.
    const read = options.newKey === undefined ? await reading : await reading.catch(() => null);
    const [{ apiKeys: keys, nextCursor }, counts] = read ?? nothingRead;
    const days = await lastDays(session, keys.map(({ id }) => id));
    const rows: ApiKeyRow[] = keys.map((key) => {
      const ofKey = days?.counts.get(key.id);
      const values = days?.starts.map((start, position) => ({
        start: isoTime(start),
        value: ofKey?.[position] ?? 0,
      })) ?? null;
      return {
        ...key,
        createdByYou: key.createdBy?.id === session.user.id,
        days: values,
      };
    });
    const frame = portalFrame(parts, assets, session);
    const view = apiKeysPage({
      frame,
      apiKeys: rows,
      counts,
      nextCursor,
      newKey: options.newKey ?? null,
      form: options.form ?? emptyForm,
      usageUrl,
      flash: c.req.method === "GET" ? flashes.get(c.req.query("done") ?? "") ?? null : null,
    });
    return sendPage(c, view, options.status);
  }

  /** @returns Null when the counts are not there in time: keys must be revocable while reports are busy. */
  async function lastDays(session: Session, apiKeyIds: readonly string[]) {
    if (apiKeyIds.length === 0) return null;
    const end = (Math.floor(clock() / dayMs) + 1) * dayMs;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), apiKeyCountsTimeoutMs);
    try {
      const query = { from: isoTime(end - sparklineDays * dayMs), to: isoTime(end), apiKeyIds };
      return await countUsageOfApiKeys(services, session, { query, signal: late.signal });
    } catch (error) {
      const isBusy = error instanceof AppError && error.code === "unavailable";
      if (!isBusy && !late.signal.aborted) throw error;
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  app.get(path, inOrganization(parts, list));

  app.post(
    path,
    inOrganization(parts, async (c, session) => {
      const form = await readOrganizationForm(c, session);
      const values = { name: form["name"] ?? "", expires: form["expires"] ?? "never" };
      try {
        const { name } = check(renameApiKeySchema, { name: values.name }, "body");
        const lifetime = choice(lifetimes, "expires", values.expires);
        const expiresAt = lifetime === null ? null : clock() + lifetime;
        const { apiKey, fullKey } = await createApiKey(services, session, { name, expiresAt });
        return await list(c, session, {
          newKey: { name: apiKey.name, fullKey, replaced: null },
          status: 201,
        });
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        return await list(c, session, { form: { values, fieldErrors: fields, error: message }, status });
      }
    }),
  );

  app.get(
    `${path}/:id/rename`,
    inOrganization(parts, async (c, session) => {
      const apiKey = await getApiKey(services, session, id(c));
      const frame = portalFrame(parts, assets, session);
      return sendPage(c, renameApiKeyPage({ frame, apiKey, value: apiKey.name, fieldErrors: {} }));
    }),
  );

  app.post(
    `${path}/:id/rename`,
    inOrganization(parts, async (c, session) => {
      const form = await readFormBody(c);
      const apiKey = await getApiKey(services, session, id(c));
      try {
        const { name } = check(renameApiKeySchema, { name: form["name"] ?? "" }, "body");
        await renameApiKey(services, session, { id: apiKey.id, name });
        return redirect(c, `${path}?done=renamed`);
      } catch (error) {
        const { fields, status } = formError(c, error);
        const frame = portalFrame(parts, assets, session);
        return sendPage(
          c,
          renameApiKeyPage({ frame, apiKey, value: form["name"] ?? "", fieldErrors: fields }),
          status,
        );
      }
    }),
  );

  app.get(
    `${path}/:id/revoke`,
    inOrganization(parts, async (c, session) => {
      const apiKey = await getApiKey(services, session, id(c));
      if (apiKey.status === "revoked") return redirect(c, path);
      return sendPage(c, revokeApiKeyPage({ frame: portalFrame(parts, assets, session), apiKey }));
    }),
  );

  app.post(
    `${path}/:id/revoke`,
    inOrganization(parts, async (c, session) => {
      await revokeApiKey(services, session, id(c));
      return redirect(c, `${path}?done=revoked`);
    }),
  );

  app.get(
    `${path}/:id/rotate`,
    inOrganization(parts, async (c, session) => {
      const apiKey = await getApiKey(services, session, id(c));
      if (apiKey.status !== "active") return redirect(c, path);
      const frame = portalFrame(parts, assets, session);
      return sendPage(c, rotateApiKeyPage({ frame, apiKey, value: "now", fieldErrors: {} }));
    }),
  );

  app.post(
    `${path}/:id/rotate`,
    inOrganization(parts, async (c, session) => {
      const form = await readFormBody(c);
      const apiKey = await getApiKey(services, session, id(c));
      const value = form["expireOld"] ?? "now";
      try {
        const grace = choice(graces, "expireOld", value);
        const expireOldAt = grace === null ? null : clock() + grace;
        const { fullKey } = await rotateApiKey(services, session, { id: apiKey.id, expireOldAt });
        const endsAt = expireOldAt === null ? null : isoTime(expireOldAt);
        // The page is the list: going back to it, or loading it again, must not ask to rotate once more.
        c.header("HX-Push-Url", path);
        const newKey = { name: apiKey.name, fullKey, replaced: { name: apiKey.name, endsAt } };
        return await list(c, session, { newKey, status: 201 });
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const frame = portalFrame(parts, assets, session);
        const errors = message === null ? fields : { ...fields, expireOld: message };
        return sendPage(c, rotateApiKeyPage({ frame, apiKey, value, fieldErrors: errors }), status);
      }
    }),
  );
}

function id(c: AppContext): string {
  return c.req.param("id") ?? "";
}

function choice(choices: ReadonlyMap<string, number | null>, path: string, value: string): number | null {
  const found = choices.get(value);
  if (found === undefined) {
    throw validationError([{ path, message: `must be one of ${[...choices.keys()].join(", ")}.` }]);
  }
  return found;
}
