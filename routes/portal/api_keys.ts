// The list of API keys, and the page that revokes unused ones.
import { validationError } from "../../domain/errors.ts";
import { environments } from "../../domain/environment.ts";
import { isId } from "../../domain/id.ts";
import { type KeyLine, keyOrders, keyStates } from "../../domain/keys/key_list.ts";
import { searchCharactersMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import { presentation } from "../../domain/presentation.ts";
import type { Access } from "../../services/access/mod.ts";
import {
  getApiKey,
  listChosenKeys,
  listKeyLines,
  listNewestKeys,
  listUnusedKeys,
  revokeApiKeys,
  revokeUnusedKeys,
} from "../../services/keys/mod.ts";
import { readUsage } from "../../services/meter/mod.ts";
import type { KeyListQuery } from "../../services/keys/jobs/mod.ts";
import type { KeyLineRow } from "../../views/keys/api_key_table.tsx";
import { apiKeysPage } from "../../views/keys/api_keys.tsx";
import { revokeKeysPage } from "../../views/keys/unused_keys.tsx";
import type { App, AppContext } from "../env.ts";
import { flashAbout, flashOf, queryOf, type Viewer } from "./form.ts";
import { inTime } from "./in_time.ts";
import { newKeyValues } from "./key_form.ts";
import { mountFormPage, mountPage, type Pages } from "./noun_pages.ts";
import { type PortalParts, redirect } from "./page.ts";
import { organizationNounPages } from "./viewer.ts";

const path = "/api-keys";

export function apiKeyListPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = organizationNounPages(app, parts, { place: "api-keys", path, label: "API keys" });
  mountPage(pages, path, async (c, { actor: { access }, frame }) => {
    const { timezone } = presentation();
    const query = { ...listQuery(c), timezone };
    const list = await inTime((signal) => listKeyLines(services, access, { query, signal }));
    // Keys can be revoked while reports are busy.
    const lines = list?.lines ?? await listNewestKeys(services, access);
    return apiKeysPage({
      frame,
      lines: list === null ? withoutUsage(lines) : await withUsage(parts, access, { lines, timezone }),
      list: list &&
        { ...list, href: frame.base + path, state: query.state, isSorted: query.order !== undefined },
      newKey: newKeyValues(),
      flash: await flash(parts, c, access),
    });
  });
  unusedPages(pages, parts);
  chosenPages(pages, parts);
}

/** Reads the newest keys of an organization, for a page that has more than keys. */
export async function newestKeyRows(
  parts: PortalParts,
  access: Access,
  limit: number,
): Promise<KeyLineRow[]> {
  const lines = await listNewestKeys(parts.services, access, limit);
  return await withUsage(parts, access, { lines, timezone: presentation().timezone });
}

function listQuery(c: AppContext): KeyListQuery {
  const page = Number(c.req.query("page"));
  return {
    state: keyStates.find((state) => state === c.req.query("status")) ?? "active",
    environment: environments.find((one) => one === c.req.query("environment")) ?? null,
    search: (c.req.query("search") ?? "").slice(0, searchCharactersMax),
    order: keyOrders.find((order) => order === c.req.query("sort")),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

async function withUsage(
  { services }: PortalParts,
  access: Access,
  { lines, timezone }: { lines: readonly KeyLine[]; timezone: string },
): Promise<KeyLineRow[]> {
  const apiKeyIds = lines.map(({ id }) => id);
  const [usage, lastUsage] = await Promise.all([
    inTime((signal) =>
      readUsage(services, access, { job: "sumKeyUsage", query: { apiKeyIds, timezone }, signal })
    ),
    inTime((signal) => readUsage(services, access, { job: "readLastUsage", query: { apiKeyIds }, signal })),
  ]);
  return lines.map((line) => ({
    ...line,
    usage: usage === null ? "unavailable" : usage.get(line.id) ?? null,
    lastUsageAt: lastUsage?.get(line.id) ?? null,
  }));
}

function withoutUsage(lines: readonly KeyLine[]): KeyLineRow[] {
  return lines.map((line) => ({ ...line, usage: "unavailable", lastUsageAt: null }));
}

async function flash({ services }: PortalParts, c: AppContext, access: Access): Promise<string | null> {
  const count = Number(queryOf(c, "count"));
  const revoked = (noun: string) =>
    `${Number.isSafeInteger(count) ? countOf(count, noun) : `Some ${noun}s`} ${
      count === 1 ? "has" : "have"
    } been revoked.`;
  return await flashAbout(c, {
    revoked: async (id) => `“${(await getApiKey(services, access, id)).name}” has been revoked.`,
  }) ?? flashOf(c, {
    "revoked-unused": revoked("unused key"),
    "revoked-selected": revoked("key"),
    "revoked-some": `${revoked("key")} The others were already inactive.`,
    "revoked-none": "No active keys were selected.",
  });
}

function unusedPages(pages: Pages<Viewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/revoke-unused`,
    async show(c, form, { access, frame }) {
      const { signal } = c.req.raw;
      const { lines, count } = await listUnusedKeys(services, access, signal);
      if (lines.length === 0) return redirect(c, frame.base + path);
      const ids = lines.map(({ id }) => id);
      const lastUsage = await readUsage(services, access, {
        job: "readLastUsage",
        query: { apiKeyIds: ids },
        signal,
      });
      const chosen = new Set(ids.filter((id) => form.input === undefined || form.input[id] !== undefined));
      return revokeKeysPage(form, { lines, lastUsage, chosen, unusedCount: count });
    },
    async submit(_c, { access, frame }, input) {
      const revoked = await revokeUnusedKeys(services, access, someIdsIn(input));
      return `${frame.base}${path}?done=revoked-unused&count=${revoked.length}`;
    },
  });
}

/** Revokes keys that the address names, as the list of keys does. */
function chosenPages(pages: Pages<Viewer>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: `${path}/revoke`,
    async show(c, form, { access, frame }) {
      const { input } = form;
      const lines = await listChosenKeys(services, access, keyIdsIn({ ...c.req.query(), ...input }));
      if (lines.length === 0 && input === undefined) {
        return redirect(c, `${frame.base}${path}?done=revoked-none`);
      }
      const apiKeyIds = lines.map(({ id }) => id);
      const chosen = new Set(input === undefined ? apiKeyIds : keyIdsIn(input));
      const action = form.action + new URL(c.req.url).search;
      const lastUsage = await inTime((signal) =>
        readUsage(services, access, { job: "readLastUsage", query: { apiKeyIds }, signal })
      );
      return revokeKeysPage({ ...form, action }, { lines, lastUsage, chosen });
    },
    async submit(_c, { access, frame }, input) {
      const ids = someIdsIn(input);
      const { length } = await revokeApiKeys(services, access, ids);
      const done = length === 0 ? "none" : length < ids.length ? "some" : "selected";
      return `${frame.base}${path}?done=revoked-${done}&count=${length}`;
    },
  });
}

function keyIdsIn(input: Readonly<Record<string, string>>): string[] {
  return Object.keys(input).filter((name) => isId("key", name));
}

/** @throws {AppError} `validation_failed` without a key. */
function someIdsIn(input: Readonly<Record<string, string>>): string[] {
  const ids = keyIdsIn(input);
  if (ids.length === 0) throw validationError([{ path: "keys", message: "Choose at least one key." }]);
  return ids;
}
