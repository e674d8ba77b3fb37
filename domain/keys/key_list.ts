// The list of an organization's keys: its parts, its orders, and one line for a key and those that replaced it.
import type { ApiKey } from "./api_key.ts";
import type { Environment } from "../environment.ts";
import type { KeyUsage } from "../meter/key_usage.ts";

/** Active keys that expire within this time are marked. */
const keyExpiresSoonMs = 14 * 24 * 3_600_000;
/** Keys without requests and usage for this long can be revoked together. */
export const keyUnusedMs = 90 * 24 * 3_600_000;
/** Keys that can be revoked at a time: those of a page. */
export const keysRevokedMax = 50;
export const keyListPageItems = 50;
/** Active keys that the list has, and keys that it has of those that ended last. */
export const listedKeysMax = 10_000;
/** With more lines, they are sorted by usage only if someone asks for it. */
export const linesByUsageMax = 500;

/** The parts of the list. Expiring keys are active, too. */
export const keyStates = ["active", "expiring", "inactive"] as const;
export type KeyState = (typeof keyStates)[number];

/** The orders of the list. `end`: the next to expire first, or the last one that ended. */
export const keyOrders = ["usage", "used", "created", "name", "end"] as const;
export type KeyOrder = (typeof keyOrders)[number];

/** A key with those that it replaced. `lastUsedAt`: of any of them. */
export interface KeyLine extends ApiKey {
  readonly lastUsedAt: string | null;
  /** The time when the last replaced key stops working; null if none works. */
  readonly oldKeyEndsAt: string | null;
}

/** A page of the list, besides its lines. */
export interface KeyListPage {
  /** The search, without characters that could not be found. */
  readonly search: string;
  /** Null for both environments. */
  readonly environment: Environment | null;
  readonly order: KeyOrder;
  /** The numbers of lines that match the search and the environment in each state. `isCut`: there may be more inactive ones. */
  readonly counts: Readonly<Record<KeyState, number>> & { readonly isCut: boolean };
  /** The number of active lines without requests and usage for 90 days. Like `isEmpty`, this doesn't depend on the search. */
  readonly unused: number;
  readonly isEmpty: boolean;
  /** The number of active keys, and its maximum, for those who see all keys. */
  readonly limit: { readonly active: number; readonly max: number } | null;
  /** The number of this page, from 1, and of the last one. */
  readonly page: number;
  readonly pages: number;
}

export interface ListedKey {
  readonly id: string;
  /** A newer key has a higher one. */
  readonly number: number;
  /** Equal for keys that replaced each other. */
  readonly lineage: number;
  readonly name: string;
  readonly keyPrefix: string;
  readonly environment: Environment;
  readonly createdAt: number;
  /** When it was created here, or imported. */
  readonly addedAt: number;
  readonly lastUsedAt: number | null;
  /** The time when it ended or will end; null for never. */
  readonly endsAt: number | null;
}

export interface ListedLine {
  /** The newest active key; the newest if none is active. */
  readonly current: ListedKey;
  readonly isActive: boolean;
  readonly lastUsedAt: number | null;
  /** The time when the last of the other active keys ends, if there are any. */
  readonly oldKeyEndsAt: number | null;
}

/** Joins the keys of each lineage into a line. */
export function toLines(active: readonly ListedKey[], ended: readonly ListedKey[]): ListedLine[] {
  const lines = new Map<number, ListedLine>();
  const add = (key: ListedKey, isActive: boolean) => {
    const line = lines.get(key.lineage);
    if (line === undefined) {
      const { lastUsedAt } = key;
      lines.set(key.lineage, { current: key, isActive, lastUsedAt, oldKeyEndsAt: null });
      return;
    }
    const isNewer = line.isActive === isActive && key.number > line.current.number;
    const other = isNewer ? line.current : key;
    lines.set(key.lineage, {
      ...line,
      current: isNewer ? key : line.current,
      lastUsedAt: later(line.lastUsedAt, key.lastUsedAt),
      oldKeyEndsAt: isActive ? later(line.oldKeyEndsAt, other.endsAt) : line.oldKeyEndsAt,
    });
  };
  for (const key of active) add(key, true);
  for (const key of ended) add(key, false);
  return [...lines.values()];
}

function later(a: number | null, b: number | null): number | null {
  return a === null || b === null ? a ?? b : Math.max(a, b);
}

export function isInState({ current, isActive }: ListedLine, state: KeyState, now: number): boolean {
  if (state === "inactive") return !isActive;
  return isActive && (state === "active" || expiresSoon(current, now));
}

export function expiresSoon({ endsAt }: Pick<ListedKey, "endsAt">, now: number): boolean {
  return endsAt !== null && endsAt - now < keyExpiresSoonMs;
}

/** True if an active line was created or imported before the last 90 days, and had no request in them. It may have usage of operators. */
export function isWithoutRequests({ current, isActive, lastUsedAt }: ListedLine, now: number): boolean {
  return isActive && Math.max(current.addedAt, lastUsedAt ?? 0) < now - keyUnusedMs;
}

/** Returns a condition for lines whose name or prefix has a text, in upper or lower case. */
export function matches(search: string): (line: ListedLine) => boolean {
  const wanted = search.toLowerCase();
  if (wanted === "") return () => true;
  return ({ current: { name, keyPrefix } }) =>
    name.normalize("NFKC").toLowerCase().includes(wanted) || keyPrefix.toLowerCase().includes(wanted);
}

// Loading the rules of a language takes several milliseconds.
let collator: Intl.Collator | undefined;

function compareNames(a: string, b: string): number {
  collator ??= new Intl.Collator("en", { numeric: true });
  return collator.compare(a, b);
}

/** Sorts lines. `usage` is by the id of the current key, and only read for that order. */
export function sortLines(
  lines: readonly ListedLine[],
  order: KeyOrder,
  usage: ReadonlyMap<string, KeyUsage>,
): ListedLine[] {
  const newestFirst = ({ current: a }: ListedLine, { current: b }: ListedLine) =>
    b.createdAt - a.createdAt || b.number - a.number;
  const byUsage = usageOrder(usage);
  const orders: Record<KeyOrder, (a: ListedLine, b: ListedLine) => number> = {
    created: newestFirst,
    name: (a, b) => compareNames(a.current.name, b.current.name),
    used: (a, b) => (b.lastUsedAt ?? 0) - (a.lastUsedAt ?? 0),
    end: (a, b) => a.current.endsAt === b.current.endsAt ? 0 : (a.isActive ? 1 : -1) * (endOf(a) - endOf(b)),
    usage: (a, b) => byUsage(a.current.id, b.current.id),
  };
  const compare = orders[order];
  return lines.toSorted((a, b) => compare(a, b) || newestFirst(a, b));
}

function endOf({ current: { endsAt } }: ListedLine): number {
  return endsAt ?? Infinity;
}

/** Orders keys by usage, those of the metric with the most records first: quantities of different metrics can't be compared. */
function usageOrder(usage: ReadonlyMap<string, KeyUsage>): (a: string, b: string) => number {
  const all = new Map<string, number>();
  for (const { metric: { slug }, records } of usage.values()) all.set(slug, (all.get(slug) ?? 0) + records);
  return (id, other) => {
    const [a, b] = [usage.get(id), usage.get(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    const [slug, otherSlug] = [a.metric.slug, b.metric.slug];
    if (slug === otherSlug) return Number(b.micros - a.micros);
    return (all.get(otherSlug) ?? 0) - (all.get(slug) ?? 0) || (slug < otherSlug ? -1 : 1);
  };
}
