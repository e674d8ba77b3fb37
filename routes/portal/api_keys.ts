// The list of API keys, and the page that revokes those that are not used any more.
import type { SessionActor } from "../../domain/actor.ts";
import type { ApiKey } from "../../domain/api_key.ts";
import { AppError, validationError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { keyOrders, keyStates } from "../../domain/key_list.ts";
import type { KeyUsage } from "../../domain/meter/key_usage.ts";
import { searchCharactersMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import { hasPermission } from "../../domain/permissions.ts";
import type { KeyListQuery } from "../../services/reports/jobs/api_key_list.ts";
import {
  listKeyLines,
  listNewestKeys,
  listUnusedKeys,
  revokeUnusedKeys,
} from "../../services/api_key_lines.ts";
import { getApiKey } from "../../services/api_keys.ts";
import type { KeyUsageQuery } from "../../services/reports/jobs/key_usage.ts";
import { activeAccess } from "../../services/access.ts";
import { readKeyUsage } from "../../services/meter/usage.ts";
import { readUsagePreferences } from "../../services/meter/usage_preferences.ts";
import { apiKeysPage } from "../../views/api_keys/api_keys.tsx";
import type { UsedKey } from "../../views/api_keys/api_key_table.tsx";
import { unusedKeysPage } from "../../views/api_keys/unused_keys.tsx";
import type { App, AppContext } from "../env.ts";
import { flashOf, mountForm, queryOf } from "./form.ts";
import { inTime } from "./in_time.ts";
import { newKeyValues } from "./key_form.ts";
import { memberRoutes, portalFrame, type PortalParts, redirect, sendPage } from "./page.ts";

const path = "/portal/api-keys";

/** Mounts `/portal/api-keys`. */
export function portalApiKeyListRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  memberRoutes(app, parts).get(path, async (c, session) => {
    const timezone = (await readUsagePreferences(services, activeAccess(session))).timezone ?? "UTC";
    const query = { ...listQuery(c), timezone };
    const list = await inTime((signal) => listKeyLines(services, session, { query, signal }));
    // Keys can be revoked while reports are busy.
    const lines = list?.lines ?? await listNewestKeys(services, session);
    const apiKeyIds = lines.map(({ id }) => id);
    const usage = list && await recentUsage(parts, session, { apiKeyIds, timezone });
    const view = apiKeysPage({
      frame: portalFrame(parts, session),
      lines: lines.map((line) => rowOf(line, session, usage)),
      list: list && { ...list, state: query.state, isSorted: query.order !== undefined },
      isEmpty: list?.isEmpty ?? lines.length === 0,
      seesAll: hasPermission(session.organization.role, "apiKeys.manageAll"),
      newKey: newKeyValues(),
      flash: await flash(parts, c, session),
    });
    return sendPage(c, view);
  });
  unusedRoutes(app, parts);
}

function listQuery(c: AppContext): KeyListQuery {
  const page = Number(c.req.query("page"));
  return {
    state: keyStates.find((state) => state === c.req.query("status")) ?? "active",
    search: (c.req.query("search") ?? "").slice(0, searchCharactersMax),
    order: keyOrders.find((order) => order === c.req.query("sort")),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

/** @returns The usage of keys by id; null if it is not available. */
async function recentUsage({ services }: PortalParts, session: SessionActor, query: KeyUsageQuery) {
  return await inTime((signal) => readKeyUsage(services, activeAccess(session), { query, signal }));
}

/** @returns A key as lists show it. */
function rowOf<Key extends ApiKey>(
  apiKey: Key,
  session: SessionActor,
  usage: ReadonlyMap<string, KeyUsage> | null,
): Key & UsedKey {
  return {
    ...apiKey,
    createdByYou: apiKey.createdBy?.id === session.user.id,
    usage: usage === null ? "unavailable" : usage.get(apiKey.id) ?? null,
  };
}

/** The address has the key's id instead of its name, so that links can't put arbitrary text into the page. */
async function flash(
  { services }: PortalParts,
  c: AppContext,
  session: SessionActor,
): Promise<string | null> {
  const count = Number(queryOf(c, "count"));
  const id = queryOf(c, "id");
  if (id === undefined) {
    const keys = Number.isSafeInteger(count) ? countOf(count, "unused key") : "Unused keys";
    return flashOf(c, { "revoked-unused": `${keys} ${count === 1 ? "has" : "have"} been revoked.` });
  }
  try {
    const { name } = await getApiKey(services, session, id);
    return flashOf(c, { revoked: `“${name}” has been revoked.` });
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return null;
    throw error;
  }
}

function unusedRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  mountForm(memberRoutes(app, parts), {
    path: `${path}/revoke-unused`,
    async show(c, session, { input, fields, message, status }) {
      const { lines, count } = await listUnusedKeys(services, session, c.req.raw.signal);
      if (lines.length === 0) return redirect(c, path);
      const ids = lines.map(({ id }) => id);
      const chosen = new Set(input === undefined ? ids : ids.filter((id) => input[id] !== undefined));
      const frame = portalFrame(parts, session);
      return await sendPage(c, unusedKeysPage({ frame, lines, count, chosen, fields, message }), status);
    },
    async submit(c, session, input) {
      const ids = Object.keys(input).filter((name) => isId("key", name));
      if (ids.length === 0) throw validationError([{ path: "keys", message: "Choose at least one key." }]);
      const revoked = await revokeUnusedKeys(services, session, ids);
      return redirect(c, `${path}?done=revoked-unused&count=${revoked.length}`);
    },
  });
}
