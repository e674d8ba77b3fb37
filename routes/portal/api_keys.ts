// The pages of API keys. A new key is shown only in the response to the form, which is never cached.
import type { ApiKey } from "../../domain/api_key.ts";
import { AppError, validationError } from "../../domain/errors.ts";
import {
  defaultKeyPermissions,
  isOwnPermission,
  keyPermissionFault,
  usagePermissions,
} from "../../domain/key_permissions.ts";
import { pageItemsDefault } from "../../domain/limits.ts";
import { hasPermission } from "../../domain/permissions.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import { isoTime } from "../../domain/time.ts";
import {
  changeApiKey,
  countApiKeys,
  createApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from "../../services/api_keys.ts";
import { readKeyLimits } from "../../services/meter/limits.ts";
import { countUsageOfApiKeys } from "../../services/meter/usage.ts";
import { editApiKeyPage, revokeApiKeyPage, rotateApiKeyPage } from "../../views/api_keys/api_key.tsx";
import { apiKeyPage } from "../../views/api_keys/api_key_page.tsx";
import type { ApiKeyRow } from "../../views/api_keys/api_key_table.tsx";
import { apiKeysPage, type NewKey } from "../../views/api_keys/api_keys.tsx";
import type { PermissionChoice } from "../../views/api_keys/permission_fields.tsx";
import type { App, AppContext } from "../env.ts";
import { createApiKeySchema } from "../schemas/api_keys.ts";
import { check } from "../schemas/check.ts";
import { portalBudgetRoutes } from "./api_key_budget.ts";
import { expiryOf, timeAfter } from "./expiry.ts";
import { flashOf, type FormState, mountForm, newForm, queryOf } from "./form.ts";
import { inTime } from "./in_time.ts";
import { type MemberActor, memberRoutes, portalFrame, type PortalParts, redirect, sendPage } from "./page.ts";

const path = "/portal/api-keys";
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const sparklineDays = 30;

/** Null: immediately. */
const graces: ReadonlyMap<string, number | null> = new Map([
  ["now", null],
  ["1h", hourMs],
  ["24h", dayMs],
  ["7d", 7 * dayMs],
]);

type ShowList = (
  c: AppContext,
  session: MemberActor,
  state: FormState & { newKey?: NewKey },
) => Promise<Response>;

/** Mounts `/portal/api-keys`. */
export function portalApiKeyRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const show = showList(parts);
  mountForm(memberRoutes(app, parts), {
    path,
    show,
    async submit(c, session, input) {
      const { name, permissions } = checkedKey(input);
      const expiresAt = expiryOf(input, services.clock());
      const { fullKey } = await createApiKey(services, session, { name, permissions, expiresAt });
      return await show(c, session, { ...newForm, newKey: { name, fullKey, replaced: null }, status: 201 });
    },
  });
  keyRoutes(app, parts);
  portalBudgetRoutes(app, parts);
  editRoutes(app, parts);
  revokeRoutes(app, parts);
  rotateRoutes(app, parts, show);
}

function showList(parts: PortalParts): ShowList {
  const { services } = parts;
  return async (c, session, state) => {
    const page = { limit: pageItemsDefault, cursor: queryOf(c, "cursor") };
    const reading = Promise.all([listApiKeys(services, session, page), countApiKeys(services, session)]);
    // A new key is shown even if the list cannot be read: it cannot be shown again.
    const read = state.newKey === undefined ? await reading : await reading.catch(() => null);
    const [{ apiKeys, nextCursor }, counts] = read ??
      [{ apiKeys: [], nextCursor: null }, null];
    const usage = await recentUsage(parts, session, apiKeys.map(({ id }) => id));
    const view = apiKeysPage({
      frame: portalFrame(parts, session),
      apiKeys: apiKeys.map((key) => rowOf(key, session, usage)),
      counts,
      nextCursor,
      newKey: state.newKey ?? null,
      form: {
        ...state,
        values: {
          name: state.input?.["name"] ?? "",
          expires: state.input?.["expires"] ?? "never",
          permissions: state.input === undefined ? choiceOf(defaultKeyPermissions) : typedChoice(state.input),
        },
      },
      usageUrl: `${parts.config.baseUrl.origin}/api/v1/usage`,
      flash: await flash(parts, c, session),
    });
    return sendPage(c, view, state.status);
  };
}

/** @returns The records of keys on each of the last days, oldest first; null if they are not available. */
async function recentUsage(
  { services }: PortalParts,
  session: Session,
  apiKeyIds: readonly string[],
): Promise<((apiKeyId: string) => readonly number[]) | null> {
  if (apiKeyIds.length === 0) return null;
  const end = (Math.floor(services.clock() / dayMs) + 1) * dayMs;
  const query = { from: isoTime(end - sparklineDays * dayMs), to: isoTime(end), apiKeyIds };
  const usage = await inTime((signal) => countUsageOfApiKeys(services, session, { query, signal }));
  return usage && ((id) => usage.counts.get(id) ?? usage.starts.map(() => 0));
}

function rowOf(
  apiKey: ApiKey,
  session: Session,
  usage: Awaited<ReturnType<typeof recentUsage>>,
): ApiKeyRow {
  return {
    ...apiKey,
    createdByYou: apiKey.createdBy?.id === session.user.id,
    dailyRecords: usage && usage(apiKey.id),
  };
}

function keyRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  memberRoutes(app, parts).get(`${path}/:id`, async (c, session) => {
    const apiKey = await getApiKey(services, session, idOf(c));
    const apiKeyId = apiKey.id;
    const [usage, limits] = await Promise.all([
      recentUsage(parts, session, [apiKeyId]),
      inTime((signal) => readKeyLimits(services, session, { apiKeyId, signal })),
    ]);
    return sendPage(
      c,
      apiKeyPage({
        frame: portalFrame(parts, session),
        apiKey: rowOf(apiKey, session, usage),
        limits,
        canSetBudget: hasPermission(session.organization.role, "apiKeys.manageAll"),
        flash: flashOf(c, { budget: "The budget has been saved." }),
      }),
    );
  });
}

/** The address has the key's id instead of its name, so that links can't put arbitrary text into the page. */
async function flash({ services }: PortalParts, c: AppContext, session: Session): Promise<string | null> {
  const id = queryOf(c, "id");
  if (id === undefined) return null;
  try {
    const { name } = await getApiKey(services, session, id);
    return flashOf(c, {
      revoked: `“${name}” has been revoked.`,
      changed: `Changes to “${name}” have been saved.`,
    });
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}

function editRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/:id/edit`,
    async show(c, session, { input, fields, message, status }) {
      const apiKey = await getApiKey(services, session, idOf(c));
      const frame = portalFrame(parts, session);
      const { name, permissions } = input === undefined
        ? { name: apiKey.name, permissions: choiceOf(apiKey.permissions) }
        : { name: input["name"] ?? "", permissions: typedChoice(input) };
      return await sendPage(c, editApiKeyPage({ frame, apiKey, name, permissions, fields, message }), status);
    },
    async submit(c, session, input) {
      const { id } = await getApiKey(services, session, idOf(c));
      await changeApiKey(services, session, { id, ...checkedKey(input) });
      return redirect(c, `${path}?done=changed&id=${id}`);
    },
  });
}

/** @returns Permissions as the form's fields have them. */
export function choiceOf(permissions: ApiKey["permissions"]): PermissionChoice {
  return { usage: new Set(permissions), own: permissions.filter(isOwnPermission).join(" ") };
}

/** @returns The same from a form as sent. */
export function typedChoice(input: Readonly<Record<string, string>>): PermissionChoice {
  return {
    usage: new Set(usagePermissions.filter((name) => input[name] !== undefined)),
    own: input["permissions"] ?? "",
  };
}

/** @returns The checked name and permissions of a form; those of one without their fields are undefined. @throws {AppError} `validation_failed`. */
export function checkedKey(input: Readonly<Record<string, string>>) {
  const { usage, own } = typedChoice(input);
  const names = own.split(/[\s,]+/).filter((name) => name !== "");
  for (const name of names) {
    const fault = keyPermissionFault(name);
    if (fault !== null) throw validationError([{ path: "permissions", message: `“${name}” ${fault}` }]);
  }
  const permissions = input["permissions"] === undefined ? undefined : [...usage, ...names];
  return check(createApiKeySchema, { name: input["name"] ?? "", permissions }, "body");
}

function revokeRoutes(app: App, parts: PortalParts): void {
  const { get, post } = memberRoutes(app, parts);
  const { services } = parts;

  get(`${path}/:id/revoke`, async (c, session) => {
    const apiKey = await getApiKey(services, session, idOf(c));
    if (apiKey.status === "revoked") return redirect(c, path);
    return sendPage(c, revokeApiKeyPage({ frame: portalFrame(parts, session), apiKey }));
  });
  post(`${path}/:id/revoke`, async (c, session) => {
    const { id } = await revokeApiKey(services, session, idOf(c));
    return redirect(c, `${path}?done=revoked&id=${id}`);
  });
}

function rotateRoutes(app: App, parts: PortalParts, showList: ShowList): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/:id/rotate`,
    async show(c, session, { input, message, fields, status }) {
      const apiKey = await getApiKey(services, session, idOf(c));
      if (apiKey.status !== "active" && input === undefined) return redirect(c, path);
      const error = message ?? fields["id"];
      const errors = error === undefined ? fields : { expireOld: error };
      const frame = portalFrame(parts, session);
      const value = input?.["expireOld"] ?? "now";
      return await sendPage(c, rotateApiKeyPage({ frame, apiKey, value, fields: errors }), status);
    },
    async submit(c, session, { expireOld = "now" }) {
      const { id, name } = await getApiKey(services, session, idOf(c));
      const expireOldAt = timeAfter(services.clock(), graces, { expireOld });
      const { fullKey } = await rotateApiKey(services, session, { id, expireOldAt });
      const replaced = { endsAt: expireOldAt === null ? null : isoTime(expireOldAt) };
      // Reloading the page, or going back to it, must not ask to rotate again.
      c.header("HX-Push-Url", path);
      return await showList(c, session, { ...newForm, newKey: { name, fullKey, replaced }, status: 201 });
    },
  });
}

function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}
