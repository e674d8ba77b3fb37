// The list of keys, read by the reports thread: an organization may have 10,000 active keys, and any number of others.
import type { Environment } from "../../../domain/environment.ts";
import { findApiKeysById, findListedKeys } from "../../../db/keys/api_key_list.ts";
import type { ApiKeyRow } from "../../../db/keys/api_keys.ts";
import { type ApiKeyScope, findEffectiveNumber } from "../../../db/access/mod.ts";
import { findLineagesUsedSince } from "../../../db/meter/mod.ts";
import {
  isInState,
  isWithoutRequests,
  type KeyListPage,
  keyListPageItems,
  type KeyOrder,
  keysRevokedMax,
  type KeyState,
  keyStates,
  keyUnusedMs,
  linesByUsageMax,
  listedKeysMax,
  type ListedLine,
  matches,
  sortLines,
  toLines,
} from "../../../domain/keys/key_list.ts";
import type { KeyUsage } from "../../../domain/meter/key_usage.ts";
import { searchTextOf } from "../../../domain/search.ts";
import { sumKeyUsage } from "../../meter/jobs/mod.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";

export interface KeyListQuery {
  readonly state: KeyState;
  /** A part of the name or the prefix; "" for all. */
  readonly search: string;
  /** Null for both environments. */
  readonly environment?: Environment | null | undefined;
  /** Undefined for the default order of the state. */
  readonly order: KeyOrder | undefined;
  /** Starts at 1. */
  readonly page: number;
  /** The time zone of the days of usage, an IANA name; UTC by default. */
  readonly timezone?: string | undefined;
}

export type StoredLine = ListedLine & { readonly row: ApiKeyRow };

export interface KeyList extends KeyListPage {
  readonly lines: readonly StoredLine[];
}

type Scope = JobScope & Pick<ApiKeyScope, "createdBy">;

export async function readKeyList(context: JobContext, input: Scope & KeyListQuery): Promise<KeyList> {
  const { now, state, environment = null } = input;
  const search = searchTextOf(input.search);
  const { lines: all, isCut, activeKeys } = await readLines(context, input);
  const found = all.filter(matches(search)).filter(({ current }) =>
    environment === null || current.environment === environment
  );
  const [active, expiring, inactive] = keyStates.map((state) =>
    found.filter((line) => isInState(line, state, now))
  );
  const lines = { active, expiring, inactive }[state] ?? [];
  const order = input.order ?? usualOrder(state, lines.length);
  const usage = order === "usage" ? await readTotals(context, input, lines) : new Map<string, KeyUsage>();
  const pages = Math.max(1, Math.ceil(lines.length / keyListPageItems));
  const page = Math.min(input.page, pages);
  const sorted = sortLines(lines, order, usage);
  const shown = sorted.slice((page - 1) * keyListPageItems, page * keyListPageItems);
  return {
    lines: await withRows(context, input, shown),
    search,
    environment,
    order,
    counts: {
      active: active?.length ?? 0,
      expiring: expiring?.length ?? 0,
      inactive: inactive?.length ?? 0,
      isCut,
    },
    unused: (await unusedOf(context, input, all)).length,
    isEmpty: all.length === 0,
    limit: await readLimit(context, input, activeKeys),
    page,
    pages,
  };
}

/** Reads active keys without requests and usage for 90 days, the longest unused first, and counts all of them. */
export async function readUnusedKeys(context: JobContext, input: Scope) {
  const { lines } = await readLines(context, input);
  const unused = await unusedOf(context, input, lines);
  const since = ({ current, lastUsedAt }: ListedLine) => lastUsedAt ?? current.createdAt;
  const shown = unused.toSorted((a, b) => since(a) - since(b)).slice(0, keysRevokedMax);
  return { lines: await withRows(context, input, shown), count: unused.length };
}

/** Operators can record usage for keys that send no requests. */
async function unusedOf(
  { database }: JobContext,
  { organizationId, now }: Scope,
  lines: readonly ListedLine[],
): Promise<readonly ListedLine[]> {
  const idle = lines.filter((line) => isWithoutRequests(line, now));
  if (idle.length === 0) return [];
  const used = await findLineagesUsedSince(database, organizationId, {
    lineages: idle.map(({ current }) => current.lineage),
    since: now - keyUnusedMs,
  });
  return idle.filter(({ current }) => !used.has(current.lineage));
}

async function readLines({ database, pause }: JobContext, input: Scope) {
  const { now } = input;
  const active = await findListedKeys(database, input, { isActive: true, now, limit: listedKeysMax });
  await pause();
  const ended = await findListedKeys(database, input, { isActive: false, now, limit: listedKeysMax });
  await pause();
  return { lines: toLines(active.keys, ended.keys), isCut: ended.isCut, activeKeys: active.keys.length };
}

async function readLimit({ database }: JobContext, { organizationId, createdBy }: Scope, active: number) {
  if (createdBy !== undefined) return null;
  const max = await findEffectiveNumber(database, organizationId, "apiKeysMax");
  return max === undefined ? null : { active, max };
}

function readTotals(context: JobContext, input: Scope & KeyListQuery, lines: readonly ListedLine[]) {
  const apiKeyIds = lines.length > linesByUsageMax ? undefined : lines.map(({ current: { id } }) => id);
  return sumKeyUsage(context, { ...input, apiKeyIds, window: "total" });
}

function usualOrder(state: KeyState, lines: number): KeyOrder {
  if (state !== "active") return "end";
  return lines > linesByUsageMax ? "created" : "usage";
}

async function withRows(
  { database }: JobContext,
  { organizationId }: Scope,
  lines: readonly ListedLine[],
): Promise<StoredLine[]> {
  const rows = await findApiKeysById(database, organizationId, lines.map(({ current }) => current.id));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return lines.flatMap((line) => {
    const row = byId.get(line.current.id);
    return row === undefined ? [] : [{ ...line, row }];
  });
}
