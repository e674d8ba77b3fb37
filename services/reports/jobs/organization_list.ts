// A page of organizations, read by the reports thread: there may be 100,000.
import { Buffer } from "node:buffer";
import { parseLimits } from "../../../db/meter/limit_rows.ts";
import {
  findOperatedOrganizations,
  type OperatedOrganizationRow,
  type OrganizationPosition,
  type OrganizationQuery,
} from "../../../db/operator/organizations.ts";
import type { OperatedOrganization } from "../../../domain/operator/organization.ts";
import { eachNumber } from "../../../domain/operator/plan.ts";
import { rollupStart } from "../../../domain/meter/rollup_unit.ts";
import { isoTime } from "../../../domain/time.ts";
import { invalidCursorError, type PageInput, readPage } from "../../pages.ts";
import type { JobContext, JobTime } from "../job_context.ts";

export type OrganizationFilter = Omit<OrganizationQuery, "limit" | "after">;

/** Returns a page of organizations. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function readOrganizationPage(
  { database }: JobContext,
  { limit, cursor, now, ...filter }: OrganizationFilter & PageInput & JobTime,
): Promise<{ organizations: OperatedOrganization[]; nextCursor: string | null }> {
  const after = cursor === undefined ? undefined : positionOf(cursor);
  const { rows, nextCursor } = await readPage(
    (limit) => findOperatedOrganizations(database, { ...filter, limit, after }, now),
    { limit, cursorOf },
  );
  return { organizations: rows.map(toOrganization), nextCursor };
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

export function toOrganization(row: OperatedOrganizationRow): OperatedOrganization {
  return {
    id: row.id,
    name: row.name,
    externalId: row.externalId,
    status: row.suspendedAt === null ? "active" : "suspended",
    suspendedAt: row.suspendedAt === null ? null : isoTime(row.suspendedAt),
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
    lastUsedAt: row.lastUsedAt === null ? null : isoTime(row.lastUsedAt),
    lastUsageAt: row.lastUsageQuarter === null ? null : isoTime(rollupStart("quarter", row.lastUsageQuarter)),
  };
}
