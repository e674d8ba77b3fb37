// A page of operators' list of organizations, and all of it as CSV, read by the reports thread: there may be 100,000.
import { Buffer } from "node:buffer";
import { parseLimits } from "../../../db/meter/mod.ts";
import {
  findOperatedOrganizations,
  findOrganizationNumbers,
  findOrganizationsByNumber,
  type OperatedOrganizationRow,
  type OrganizationPosition,
  type OrganizationQuery,
} from "../../../db/console/organizations.ts";
import { type CsvCell, csvLine } from "../../../domain/csv.ts";
import {
  hasLevel,
  type LimitFilter,
  type LimitLevel,
  type ListedOrganization,
  type OperatedOrganization,
  type OrganizationSort,
} from "../../../domain/console/organization.ts";
import { eachNumber } from "../../../domain/billing/plan.ts";
import { rollupStart } from "../../../domain/meter/rollup_unit.ts";
import { isoTime } from "../../../domain/time.ts";
import { invalidCursorError, type PageInput, readPage } from "../../pages.ts";
import { type JobContext, JobText, type JobTime } from "../../reports/job_context.ts";
import {
  isRankedSort,
  type Rank,
  type RankedSort,
  rankOrders,
  rankOrganizations,
  readLimitLevels,
} from "./organization_ranking.ts";
import { monthUsage, readMonthUsage, requireMetric } from "./organization_usage.ts";

export interface OrganizationFilter extends Omit<OrganizationQuery, "numbers"> {
  /** Only organizations that have nearly or completely used a limit. */
  readonly limits?: LimitFilter | undefined;
  readonly sort: OrganizationSort;
  /** The one with the most records by default. */
  readonly metric?: string | undefined;
}

/** Organizations that are written as CSV at a time. */
const stepOrganizations = 100;

/**
 * Returns a page of organizations.
 *
 * @throws {AppError} `validation_failed` for an invalid cursor and an unknown metric.
 */
export async function readOrganizationPage(
  context: JobContext,
  { metric: wanted, ...input }: OrganizationFilter & PageInput & JobTime,
): Promise<{ organizations: ListedOrganization[]; nextCursor: string | null }> {
  const { sort, now } = input;
  const metric = await requireMetric(context, { now, metric: wanted });
  const { rows, nextCursor } = isRankedSort(sort)
    ? await readRankedPage(context, { ...input, sort, metric })
    : await readStoredPage(context, { ...input, sort });
  const usage = await readMonthUsage(context, { rows, metric, now });
  return {
    organizations: rows.map((row) => ({ ...toOrganization(row), usage: monthUsage(metric, usage(row)) })),
    nextCursor,
  };
}

/** A page in an order that the database has. */
async function readStoredPage(
  context: JobContext,
  { limit, cursor, now, limits, ...filter }:
    & Omit<OrganizationFilter, "sort" | "metric">
    & PageInput
    & JobTime
    & { sort: Exclude<OrganizationSort, RankedSort> },
) {
  const after = cursor === undefined ? undefined : positionOf(cursor);
  const numbers = limits &&
    [...await readLimitLevels(context, { now })].flatMap(([number, level]) =>
      hasLevel(limits, level) ? [number] : []
    );
  return await readPage(
    (limit) => findOperatedOrganizations(context.database, { ...filter, numbers, limit, after }, now),
    { limit, cursorOf },
  );
}

/** A page by usage or growth. */
async function readRankedPage(
  context: JobContext,
  { limit, cursor, sort, metric, ...filter }:
    & Omit<OrganizationFilter, "sort" | "metric">
    & PageInput
    & JobTime
    & { sort: RankedSort; metric: string | null },
) {
  const { now } = filter;
  const after = cursor === undefined ? undefined : rankOf(cursor);
  const { numbers } = await readNumbers(context, { ...filter, sort });
  const { numbers: ordered, rankAt } = await rankOrganizations(context, numbers, { sort, metric, now });
  const isAfter = (index: number) => after === undefined || rankOrders[sort](rankAt(index), after) > 0;
  const start = ordered.findIndex((_, index) => isAfter(index));
  const { rows: page, nextCursor } = await readPage(
    (limit) =>
      Promise.resolve(start < 0 ? [] : ordered.slice(start, start + limit).map((_, n) => rankAt(start + n))),
    { limit, cursorOf: rankCursorOf },
  );
  const shown = page.map(({ organization }) => organization);
  return { rows: await findOrganizationsByNumber(context.database, shown, now), nextCursor };
}

/** Returns the numbers of all organizations that match, by name or else the newest first, and the limit levels. */
async function readNumbers(
  context: JobContext,
  { sort, now, limits, ...query }: Omit<OrganizationFilter, "metric"> & JobTime,
) {
  const levels = await readLimitLevels(context, { now });
  const found = await findOrganizationNumbers(context.database, query, sort === "name" ? sort : "createdAt");
  await context.pause();
  const numbers = limits === undefined
    ? found
    : found.filter((number) => hasLevel(limits, levels.get(number)));
  return { numbers, levels };
}

/** The position of a row instead of its id, so that it stays valid after the organization is renamed or deleted. */
function cursorOf({ number, name }: OrganizationPosition): string {
  return Buffer.from(`${number}:${name}`).toString("base64url");
}

function positionOf(cursor: string): OrganizationPosition {
  const [, number, name = ""] = /^(\d{1,15}):(.*)$/s.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (number === undefined) throw invalidCursorError();
  return { number: Number(number), name };
}

function rankCursorOf({ organization, sum, previous }: Rank): string {
  return Buffer.from(`${organization}:${sum}:${previous}`).toString("base64url");
}

function rankOf(cursor: string): Rank {
  const numbers = Buffer.from(cursor, "base64url").toString().split(":").map(Number);
  const [organization, sum, previous] = numbers;
  if (
    organization === undefined || sum === undefined || previous === undefined || numbers.some(Number.isNaN)
  ) {
    throw invalidCursorError();
  }
  return { organization, sum, previous };
}

const columns = [
  "organizationId",
  "externalId",
  "name",
  "planId",
  "status",
  "limits",
  "members",
  "activeApiKeys",
  "metric",
  "sum",
  "previousSum",
  "createdAt",
  "lastUsedAt",
];

/**
 * Writes a header line, then one line for each organization that matches, in order.
 *
 * @returns CSV.
 * @throws {AppError} `validation_failed` for an unknown metric.
 */
export async function organizationCsv(
  context: JobContext,
  { metric: wanted, ...filter }: OrganizationFilter & JobTime,
): Promise<Uint8Array<ArrayBuffer>> {
  const { now, sort } = filter;
  const metric = await requireMetric(context, { now, metric: wanted });
  const { numbers: found, levels } = await readNumbers(context, filter);
  const numbers = isRankedSort(sort)
    ? (await rankOrganizations(context, found, { sort, metric, now })).numbers
    : found;
  const text = new JobText(context);
  text.add(csvLine(columns));
  for (let from = 0; from < numbers.length; from += stepOrganizations) {
    const step = numbers.slice(from, from + stepOrganizations);
    const rows = await findOrganizationsByNumber(context.database, step, now);
    const usage = await readMonthUsage(context, { rows, metric, now });
    for (const row of rows) {
      const organization = { ...toOrganization(row), usage: monthUsage(metric, usage(row)) };
      text.add(csvLine(cellsOf(organization, levels.get(row.number))));
    }
    await text.flush();
    await context.pause();
  }
  return text.takeBytes();
}

function cellsOf({ usage, ...organization }: ListedOrganization, level: LimitLevel | undefined): CsvCell[] {
  return [
    organization.id,
    { exact: organization.externalId ?? "" },
    organization.name,
    organization.planId,
    organization.status,
    level === undefined || level === "near" ? level ?? "" : "over",
    String(organization.memberCount),
    String(organization.activeApiKeyCount),
    usage?.metric ?? "",
    usage?.sum ?? "",
    usage?.previousSum ?? "",
    organization.createdAt,
    organization.lastUsedAt ?? "",
  ];
}

export function toOrganization(row: OperatedOrganizationRow): OperatedOrganization {
  return {
    id: row.id,
    name: row.name,
    externalId: row.externalId,
    status: row.suspendedAt === null ? "active" : "suspended",
    suspendedAt: isoTime(row.suspendedAt),
    planId: row.planId,
    overrides: {
      ...eachNumber((name) => row[name]),
      limits: parseLimits(row.limits),
    },
    timezone: row.timezone,
    metadata: JSON.parse(row.metadata),
    memberCount: row.members,
    activeApiKeyCount: row.activeApiKeys,
    createdAt: isoTime(row.createdAt),
    lastUsedAt: isoTime(row.lastUsedAt),
    lastUsageAt: row.lastUsageQuarter === null ? null : isoTime(rollupStart("quarter", row.lastUsageQuarter)),
  };
}
