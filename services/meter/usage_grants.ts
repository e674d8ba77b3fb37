// Grants: operators give them to organizations, whose members see them.
import {
  applyGrant,
  findGrantedLimit,
  findGrants,
  type GrantedLimit,
  insertGrant,
  type NewGrant,
  selectGrant,
  selectGrantOrNulls,
  type UsageGrantRow,
  voidGrantRow,
} from "../../db/meter/usage_grant_rows.ts";
import {
  insertFirstTurns,
  insertRefill,
  type NewRefill,
  setNextTurns,
} from "../../db/meter/usage_refill_rows.ts";
import { organizationNumber } from "../../db/access/mod.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { microsToDecimal, microsToNumber, quantityMicros } from "../../domain/meter/quantity.ts";
import { activeRefillsMax } from "../../domain/meter/usage_refill.ts";
import { activeGrantsMax, type UsageGrant, type UsageGrantStatus } from "../../domain/meter/usage_grant.ts";
import { isoTime } from "../../domain/time.ts";
import { type Access, type OperatorAccess, requirePermission, writeAndRead } from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { type PageInput, readIdPage } from "../pages.ts";

/** Lists grants, the newest first. @throws {AppError} `forbidden`; `validation_failed` for an invalid cursor. */
export async function listGrants(
  { database, clock }: SessionContext,
  access: Access,
  { limit, cursor }: PageInput,
): Promise<{ grants: UsageGrant[]; nextCursor: string | null }> {
  requirePermission(access, "usage.read");
  const { rows, nextCursor } = await readIdPage(
    (page) => findGrants(database, access.organizationId, page),
    { prefix: "gra", limit, cursor },
  );
  const now = clock();
  return { grants: rows.map((row) => toGrant(row, now)), nextCursor };
}

/** @throws {AppError} `forbidden`, `not_found`. */
export async function getGrant(context: SessionContext, access: Access, id: string): Promise<UsageGrant> {
  requirePermission(access, "usage.read");
  const row = isId("gra", id)
    ? await context.database.readFirst<UsageGrantRow>(selectGrant(access.organizationId, { id }))
    : undefined;
  if (row === undefined) throw notFoundError();
  return toGrant(row, context.clock());
}

/** `refill`: the grant repeats, up to a time, instead of expiring at a fixed time. */
type NewGrantInput = Omit<NewGrant, "id"> & {
  readonly refill?: Pick<NewRefill, "every" | "rollover" | "until"> | null;
};

/** @param expiresAt Null: never. @throws {AppError} `validation_failed` for an end in the past. */
export function requireFutureEnd(
  { clock }: Pick<SessionContext, "clock">,
  expiresAt: number | null,
  path: "expiresAt" | "until" = "expiresAt",
): void {
  if (expiresAt === null || expiresAt > clock()) return;
  throw validationError([{ path, message: "must be in the future." }]);
}

/**
 * Gives an organization a grant, once for each idempotency key. If it repeats, it is the first one of a new refill.
 *
 * @returns `isRepeat`: the grant was given before.
 * @throws {AppError} `validation_failed`, `limit_per_value`, `idempotency_conflict`, `limit_reached`.
 */
export async function createGrant(
  context: SessionContext,
  { actor, organizationId, timezone }: OperatorAccess,
  input: NewGrantInput,
): Promise<{ grant: UsageGrant; isRepeat: boolean }> {
  const now = context.clock();
  const { limitId, idempotencyKey, quantity, expiresAt, reason, refill = null } = input;
  const select = selectGrant(organizationId, { idempotencyKey });
  const existing = await context.database.readFirst<UsageGrantRow>(select);
  if (existing !== undefined) return { grant: repeated(existing, input, now), isRepeat: true };
  requireFutureEnd(context, expiresAt);
  requireFutureEnd(context, refill?.until ?? null, "until");
  const limit = await requireLimit(context, { organizationId, limitId });
  const id = newId(refill === null ? "gra" : "rfl");
  const schedule = refill && { ...refill, ...input, id, timezone };
  const amount = microsToDecimal(quantityMicros(quantity));
  const end = refill === null ? expiresAt : refill.until;
  const { isMade, row } = await writeAndRead<UsageGrantRow | { id: null }>(context, actor, {
    statement: schedule === null
      ? insertGrant(organizationId, { id, ...input }, { now, activeMax: activeGrantsMax })
      : insertRefill(organizationId, schedule, {
        now,
        grantsMax: activeGrantsMax,
        refillsMax: activeRefillsMax,
      }),
    entry: {
      action: refill === null ? "organization.grant_added" : "organization.refill_added",
      organizationId,
      target: { id, name: scopeText(limit) },
      details: {
        quantity: amount,
        ...refill !== null && { every: refill.every, ...refill.rollover === 1 && { rollover: "1" } },
        ...end !== null && { [refill === null ? "expiresAt" : "until"]: isoTime(end) },
        reason,
      },
    },
    after: (audited) => [
      ...(schedule === null ? [] : insertFirstTurns(schedule, { ...audited, now })),
      ...applyGrant({ limitId, organization: organizationNumber(organizationId) }, audited),
    ],
  }, selectGrantOrNulls(organizationId, idempotencyKey));
  const written = row();
  if (written.id !== null) {
    return isMade
      ? { grant: toGrant(written, now), isRepeat: false }
      : { grant: repeated(written, input, now), isRepeat: true };
  }
  throw new AppError(
    "limit_reached",
    refill === null
      ? `An organization can have at most ${activeGrantsMax} active grants for a limit. Void one first, or wait until one is used up.`
      : `An organization can have at most ${activeRefillsMax} active refills and ${activeGrantsMax} active grants for a limit. Void one first.`,
  );
}

/** @throws {AppError} `validation_failed` for a limit that doesn't apply to the organization, `limit_per_value`. */
async function requireLimit(
  { database }: Pick<SessionContext, "database">,
  { organizationId, limitId }: { organizationId: string; limitId: string },
): Promise<GrantedLimit> {
  const limit = await findGrantedLimit(database, organizationId, limitId);
  if (limit === undefined) {
    const message = "must be the id of a limit of the organization or of its plan that applies to it.";
    throw validationError([{ path: "limitId", message }]);
  }
  if (limit.by) {
    throw new AppError("limit_per_value", "This limit is per value. Grants don't raise such limits.", {
      details: [{ path: "limitId", message: "must be the id of a limit without `by`." }],
    });
  }
  return limit;
}

/** Returns the metric of a limit; null if the limit counts all metrics, or doesn't apply to the organization. */
export async function metricOfLimit(
  { database }: Pick<SessionContext, "database">,
  { organizationId }: Pick<OperatorAccess, "organizationId">,
  limitId: string,
): Promise<string | null> {
  return (await findGrantedLimit(database, organizationId, limitId))?.metric ?? null;
}

/** Voids a grant: its unused rest can't be used anymore. Again: nothing changes. @throws {AppError} `not_found`. */
export async function voidGrant(
  context: SessionContext,
  access: OperatorAccess,
  { id, reason }: { id: string; reason: string },
): Promise<UsageGrant> {
  const { actor, organizationId } = access;
  const grant = await getGrant(context, access, id);
  if (grant.voidedAt !== null) return grant;
  const now = context.clock();
  const { row } = await writeAndRead<UsageGrantRow>(context, actor, {
    statement: voidGrantRow(organizationId, { id, reason, now }),
    entry: {
      action: "organization.grant_voided",
      organizationId,
      target: { id, name: scopeText(grant) },
      details: { reason },
    },
    after: () => [setNextTurns(organizationNumber(organizationId), now)],
  }, selectGrant(organizationId, { id }));
  return toGrant(row(), now);
}

/** Returns the grant that a request repeats. @throws {AppError} `idempotency_conflict` if it has other content. */
function repeated(row: UsageGrantRow, input: NewGrantInput, now: number): UsageGrant {
  const isSame = row.limitId === input.limitId && BigInt(row.quantity) === quantityMicros(input.quantity) &&
    row.reason === input.reason && isSameEnd(row, input);
  if (isSame) return toGrant(row, now);
  const message = "was used before for a grant with different content.";
  throw new AppError("idempotency_conflict", `This idempotency key ${message}`, {
    details: [{ path: "idempotencyKey", message }],
  });
}

function isSameEnd(row: UsageGrantRow, { expiresAt, refill = null }: NewGrantInput): boolean {
  if (refill === null) return row.refillId === null && row.expiresAt === expiresAt;
  return row.every === refill.every && row.rollover === refill.rollover && row.until === refill.until;
}

export function scopeText({ productSlug, metric }: Pick<UsageGrant, "productSlug" | "metric">): string {
  return `${productSlug ?? "all products"}/${metric ?? "all metrics"}`;
}

function toGrant(
  { quantity, used, createdAt, startsAt, expiresAt, voidedAt, rollover: _, until: __, per, ...row }:
    UsageGrantRow,
  now: number,
): UsageGrant {
  const [all, taken] = [BigInt(quantity), BigInt(used)];
  const status: UsageGrantStatus = voidedAt !== null
    ? "voided"
    : startsAt > now
    ? "scheduled"
    : taken === all
    ? "used"
    : expiresAt !== null && expiresAt <= now
    ? "expired"
    : "active";
  return {
    ...row,
    ...per !== "total" && { per },
    quantity: microsToNumber(all),
    used: microsToNumber(taken),
    remaining: status === "active" ? microsToNumber(all - taken) : 0,
    status,
    createdAt: isoTime(createdAt),
    startsAt: isoTime(startsAt),
    expiresAt: isoTime(expiresAt),
    voidedAt: isoTime(voidedAt),
  };
}
