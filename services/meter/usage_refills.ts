// Refills: grants that repeat. Operators read and void them, and the grants of their next turns are written ahead.
import { organizationNumber } from "../../db/access/mod.ts";
import {
  findDueRefill,
  findRefills,
  selectRefill,
  type UsageRefillRow,
  voidRefillRow,
  voidTurns,
  writeTurns,
} from "../../db/meter/usage_refill_rows.ts";
import { notFoundError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import { microsToNumber } from "../../domain/meter/quantity.ts";
import type { UsageRefill } from "../../domain/meter/usage_grant.ts";
import { isoTime } from "../../domain/time.ts";
import { type Access, type OperatorAccess, requirePermission, writeAndRead } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { type PageInput, readIdPage } from "../pages.ts";
import { scopeText } from "./usage_grants.ts";

/** Lists refills, the newest first. @throws {AppError} `forbidden`; `validation_failed` for an invalid cursor. */
export async function listRefills(
  { database, clock }: SessionContext,
  access: Access,
  { limit, cursor }: PageInput,
): Promise<{ refills: UsageRefill[]; nextCursor: string | null }> {
  requirePermission(access, "usage.read");
  const { rows, nextCursor } = await readIdPage(
    (page) => findRefills(database, access.organizationId, page),
    { prefix: "rfl", limit, cursor },
  );
  const now = clock();
  return { refills: rows.map((row) => toRefill(row, now)), nextCursor };
}

/** @throws {AppError} `forbidden`, `not_found`. */
export async function getRefill(context: SessionContext, access: Access, id: string): Promise<UsageRefill> {
  requirePermission(access, "usage.read");
  const row = isId("rfl", id)
    ? await context.database.readFirst<UsageRefillRow>(selectRefill(access.organizationId, id))
    : undefined;
  if (row === undefined) throw notFoundError();
  return toRefill(row, context.clock());
}

/** Ends a refill, its future grants, and what is left of those given. Again: nothing changes. @throws {AppError} `not_found`. */
export async function voidRefill(
  context: SessionContext,
  access: OperatorAccess,
  { id, reason }: { id: string; reason: string },
): Promise<UsageRefill> {
  const { actor, organizationId } = access;
  const refill = await getRefill(context, access, id);
  if (refill.voidedAt !== null) return refill;
  const now = context.clock();
  const { row } = await writeAndRead<UsageRefillRow>(context, actor, {
    statement: voidRefillRow(organizationId, { id, reason, now }),
    entry: {
      action: "organization.refill_voided",
      organizationId,
      target: { id, name: scopeText(refill) },
      details: { reason },
    },
    after: (audited) => voidTurns({ id, reason, organization: organizationNumber(organizationId) }, audited),
  }, selectRefill(organizationId, id));
  return toRefill(row(), now);
}

/** Writes the grants of the next turns of one refill whose turn began or whose time zone changed. Returns true if there may be more. */
export async function writeRefillTurns(
  { database, clock }: Pick<Context, "database" | "clock">,
): Promise<boolean> {
  const now = clock();
  const refill = await findDueRefill(database, now);
  if (refill === undefined) return false;
  await database.write(writeTurns(refill, now));
  return true;
}

function toRefill(
  { quantity, until, createdAt, voidedAt, per, ...row }: UsageRefillRow,
  now: number,
): UsageRefill {
  return {
    ...row,
    ...per !== "total" && { per },
    quantity: microsToNumber(BigInt(quantity)),
    until: isoTime(until),
    status: voidedAt !== null ? "voided" : until !== null && until <= now ? "ended" : "active",
    createdAt: isoTime(createdAt),
    voidedAt: isoTime(voidedAt),
  };
}
