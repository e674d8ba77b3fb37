// SQL of organizations for operators, who see and change all of them.
import { givenPlan, planNumber } from "../billing/mod.ts";
import { isActiveIn, isOrganization, type OrganizationReference } from "../access/mod.ts";
import { isId } from "../../domain/id.ts";
import { metadataKeysMax } from "../../domain/limits.ts";
import type { NumberOverrides } from "../../domain/billing/plan.ts";
import type { OrganizationStatus } from "../../domain/console/organization.ts";
import { type DatabaseReader, joinSql, sql, type Statement } from "../engine/database.ts";
import { allMonths, limitsJson } from "../meter/mod.ts";
import { hasText, indexedText } from "../text_search.ts";

/** Numbers that an organization's members and keys change. */
export interface OrganizationUse {
  readonly members: number;
  readonly activeApiKeys: number;
  readonly lastUsedAt: number | null;
  /** A quarter of an hour; see `rollupNumber`. */
  readonly lastUsageQuarter: number | null;
}

export interface StoredOrganization extends OrganizationReference, NumberOverrides {
  readonly planId: string;
  /** For `parseLimits`. */
  readonly limits: string;
  readonly createdAt: number;
  /** A JSON object. */
  readonly metadata: string;
}

export type OperatedOrganizationRow = StoredOrganization & OrganizationUse;

/** A position in a list. Organizations are numbered in the order of their creation. */
export interface OrganizationPosition {
  readonly number: number;
  readonly name: string;
}

export interface OrganizationQuery {
  /** A part of the name or of the external id, a whole id, or the beginning of an owner's email address, with its `@`. */
  readonly search?: string | undefined;
  readonly status?: OrganizationStatus | undefined;
  readonly externalId?: string | undefined;
  readonly planId?: string | undefined;
  /** Selects organizations with these numbers. */
  readonly numbers?: readonly number[] | undefined;
}

/** The orders that need no usage. */
export type StoredOrder = "createdAt" | "name";

interface OrganizationPage {
  readonly sort: StoredOrder;
  readonly limit: number;
  readonly after?: OrganizationPosition | undefined;
}

const columns =
  sql`o.id, o.name, o.external_id AS externalId, o.created_at AS createdAt, o.suspended_at AS suspendedAt,
    (SELECT p.id FROM plans p WHERE p.number = o.plan) AS planId, o.timezone, o.api_keys_max AS apiKeysMax,
    o.members_max AS membersMax, o.requests_per_second AS requestsPerSecond, o.usage_series_max AS usageSeriesMax,
    o.holds_max AS holdsMax,
    ${limitsJson({ column: "organization", number: sql`o.number` })} AS limits,
    o.metadata`;

/** Plans bound the members and active keys of an organization; keys that have ended are not read. */
const useColumns = (now: number): Statement =>
  sql`(SELECT count(*) FROM memberships m WHERE m.organization_id = o.id) AS members,
    (SELECT count(*) FROM api_keys k WHERE ${isActiveIn(sql`o.id`, now)}) AS activeApiKeys,
    (SELECT max(k.last_used_at) FROM api_keys k WHERE k.organization_id = o.id) AS lastUsedAt,
    (SELECT max(r.last_quarter) FROM usage_rollups_monthly r WHERE r.organization = o.number AND r.count > 0
      AND r.month = (SELECT max(m.month) FROM ${allMonths} m WHERE EXISTS (SELECT 1 FROM usage_rollups_monthly u
        WHERE u.month = m.month AND u.organization = o.number AND u.count > 0))) AS lastUsageQuarter`;

/** Returns an organization as a batch has left it: what {@linkcode StoredOrganization} has, or no row. */
export const selectOrganization = (id: string): Statement =>
  sql`SELECT ${columns} FROM organizations o WHERE ${isOrganization(id)}`;

export function findOperatedOrganization(database: DatabaseReader, id: string, now: number) {
  return database.readFirst<OperatedOrganizationRow>(
    sql`SELECT ${columns}, ${useColumns(now)} FROM organizations o WHERE ${isOrganization(id)}`,
  );
}

export function findOperatedOrganizations(
  database: DatabaseReader,
  { sort, limit, after, ...query }: OrganizationQuery & OrganizationPage,
  now: number,
): Promise<NumberedRow[]> {
  const { from, number, conditions } = matching(query, sort);
  const isByName = sort === "name";
  if (after !== undefined) conditions.push(isByName ? isAfterName(after) : sql`${number} < ${after.number}`);
  // First the page, then its use: not that of every organization that a sort reads.
  return database.read(sql`
    WITH page AS MATERIALIZED (
      SELECT o.* FROM ${from} WHERE ${joinSql(conditions, " AND ")}
      ORDER BY ${isByName ? byName : sql`${number} DESC`} LIMIT ${limit})
    SELECT o.number, ${columns}, ${useColumns(now)} FROM page o ORDER BY ${
    isByName ? byName : sql`o.number DESC`
  }`);
}

/** Returns the numbers of all organizations that match: the newest first, or by name and external id. */
export async function findOrganizationNumbers(
  database: DatabaseReader,
  { search, ...query }: OrganizationQuery,
  sort: StoredOrder,
): Promise<number[]> {
  const indexed = search === undefined ? null : inIndex(search);
  const isListed = query.externalId === undefined && (search === undefined || indexed !== null);
  const { conditions } = matching(indexed === null ? { search, ...query } : query, "name");
  const read = async (statement: Statement) => {
    // As one text, because rows take longer. The limit keeps the order of the inner query.
    const row = await database.readFirst<{ numbers: string }>(
      sql`SELECT json_group_array(number) AS numbers FROM (${statement} LIMIT -1)`,
    );
    return JSON.parse(row?.numbers ?? "[]") as number[];
  };
  // Each order and filter is read from an index of its own: the rows of organizations take several times as long.
  let numbers = await read(
    sql`SELECT o.number FROM organizations o ${
      isListed ? sql`INDEXED BY organizations_listed` : sql``
    } WHERE ${joinSql(conditions, " AND ")} ORDER BY o.number DESC`,
  );
  if (indexed !== null) {
    const found = await read(sql`SELECT f.rowid AS number FROM organization_search f WHERE ${indexed}`);
    numbers = numbers.filter(isOneOf(found));
  }
  if (sort === "createdAt") return numbers;
  const byName = await read(sql`SELECT number FROM organizations INDEXED BY organizations_name
    WHERE deleted_at IS NULL ORDER BY name COLLATE NOCASE, external_id`);
  return byName.filter(isOneOf(numbers));
}

/** Returns a function that is much faster than that of a set. */
export function isOneOf(numbers: readonly number[] | Int32Array): (number: number) => boolean {
  let last = 0;
  for (const number of numbers) last = Math.max(last, number);
  const flags = new Uint8Array(last + 1);
  for (const number of numbers) flags[number] = 1;
  return (number) => flags[number] === 1;
}

/** Returns organizations by number, in the order of the numbers. */
export function findOrganizationsByNumber(
  database: DatabaseReader,
  numbers: readonly number[],
  now: number,
): Promise<NumberedRow[]> {
  return database.read(sql`
    SELECT o.number, ${columns}, ${useColumns(now)} FROM json_each(${JSON.stringify(numbers)}) k
    CROSS JOIN organizations o ON o.number = k.value AND o.deleted_at IS NULL ORDER BY k.key`);
}

export type NumberedRow = OperatedOrganizationRow & { readonly number: number };

const byName = sql`o.name COLLATE NOCASE, o.number`;

/** Returns where to read organizations that match, in an order: their number, and the conditions. */
function matching(
  { search, status, externalId, planId, numbers }: OrganizationQuery,
  sort: StoredOrder,
): { from: Statement; number: Statement; conditions: Statement[] } {
  const indexed = search === undefined ? null : inIndex(search);
  const source = status === "suspended"
    ? "suspended"
    : indexed !== null && sort !== "name"
    ? "search"
    : "list";
  const conditions = [sql`o.deleted_at IS NULL`];
  if (indexed !== null) {
    // The plus sign keeps the order of the list, so that many matches need not be sorted.
    const isFound = sql`+o.number IN (SELECT f.rowid FROM organization_search f WHERE ${indexed})`;
    conditions.push(source === "search" ? indexed : isFound);
  } else if (search !== undefined) conditions.push(isNotInIndex(search));
  if (status !== undefined) {
    conditions.push(status === "suspended" ? sql`o.suspended_at IS NOT NULL` : sql`o.suspended_at IS NULL`);
  }
  if (externalId !== undefined) conditions.push(sql`o.external_id = ${externalId}`);
  if (planId !== undefined) conditions.push(sql`o.plan = ${planNumber(planId)}`);
  if (numbers !== undefined) {
    conditions.push(sql`+o.number IN (SELECT value FROM json_each(${JSON.stringify(numbers)}))`);
  }
  return {
    from: sources[source],
    number: source === "search" ? sql`f.rowid` : sql`o.number`,
    conditions,
  };
}

const sources = {
  list: sql`organizations o`,
  /** The index is read in the order of the list, so a text that many have in common takes no longer than a rare one. */
  search: sql`organization_search f CROSS JOIN organizations o ON o.number = f.rowid`,
  /** They are few, so they are sorted. */
  suspended: sql`organizations o INDEXED BY organizations_suspended_at`,
};

/** Returns a condition on the index, or null for a text that may be an address: the index has no owners. */
const inIndex = (search: string): Statement | null =>
  search.includes("@") ? null : indexedText(sql`f.organization_search`, search);

function isNotInIndex(search: string): Statement {
  if (isId("org", search)) return sql`o.id = ${search}`;
  const isOwned = search.includes("@") ? sql`o.id IN (${selectOwnedBy(search)})` : sql`false`;
  return sql`(${hasText(sql`o.name`, search)} OR ${hasText(sql`o.external_id`, search)} OR ${isOwned})`;
}

const ownedMax = 100;

/** Selects the ids of some organizations with an owner whose email address begins with a text. */
export const selectOwnedBy = (text: string): Statement =>
  sql`SELECT m.organization_id FROM users u CROSS JOIN memberships m ON m.user_id = u.id AND m.role = 'OWNER'
    WHERE u.email BETWEEN ${text.toLowerCase()} AND ${`${text.toLowerCase()}\u{10ffff}`} LIMIT ${ownedMax}`;

function isAfterName({ number, name }: OrganizationPosition): Statement {
  // SQLite looks up the name in the index, but not the pair.
  return sql`o.name COLLATE NOCASE >= ${name} AND (o.name COLLATE NOCASE, o.number) > (${name}, ${number})`;
}

/** Inserts an organization. A taken external id or an unknown plan makes the batch fail with a `constraint` error. */
export function insertOperatedOrganization(
  organization: Omit<OrganizationReference, "suspendedAt"> & {
    readonly metadata: Readonly<Record<string, string>>;
    readonly planId: string | undefined;
    readonly now: number;
  },
) {
  const { id, name, externalId, metadata, planId, timezone, now } = organization;
  const plan = planId === undefined ? sql`NULL` : givenPlan(planId);
  return sql`INSERT INTO organizations (id, name, external_id, metadata, plan, timezone, created_at)
    VALUES (${id}, ${name}, ${externalId}, ${JSON.stringify(metadata)}, ${plan}, ${timezone}, ${now})`;
}

/** Renames an organization, unless it already has the name. */
export function updateOperatedName(id: string, name: string) {
  return sql`UPDATE organizations SET name = ${name} WHERE ${isOrganization(id)} AND name <> ${name}`;
}

/** Sets an organization's external id. A taken one makes the batch fail with a `constraint` error. */
export function updateExternalId(id: string, externalId: string | null) {
  return sql`UPDATE organizations SET external_id = ${externalId}
    WHERE ${isOrganization(id)} AND external_id IS NOT ${externalId}`;
}

/** A change of an organization's metadata: values by key; null removes the key. */
export type MetadataChange = Readonly<Record<string, string | null>>;

const mergedMetadata = (change: MetadataChange): Statement =>
  sql`json_patch(metadata, ${JSON.stringify(change)})`;

export function updateMetadata(id: string, change: MetadataChange) {
  const merged = mergedMetadata(change);
  return sql`UPDATE organizations SET metadata = ${merged}
    WHERE ${isOrganization(id)} AND metadata <> ${merged}`;
}

/** Reads a row if an organization's metadata would have too many keys after a change. */
const selectTooManyKeys = (id: string, change: MetadataChange): Statement =>
  sql`SELECT 'metadata' AS reason FROM organizations WHERE ${isOrganization(id)}
    AND (SELECT count(*) FROM json_each(${mergedMetadata(change)})) > ${metadataKeysMax}`;

/** Makes its batch fail with a `constraint` error if an organization's metadata would have too many keys after a change. */
export function requireMetadataFits(id: string, change: MetadataChange) {
  return sql`INSERT INTO refused_writes (reason) ${selectTooManyKeys(id, change)}`;
}

export async function hasTooManyKeys(database: DatabaseReader, id: string, change: MetadataChange) {
  return await database.readFirst(selectTooManyKeys(id, change)) !== undefined;
}
