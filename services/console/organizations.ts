// Organizations for operators: list, create, change, suspend, resume, delete.
import { insertChangeEvent } from "../../db/outbox/mod.ts";
import { endOrganizationAccess, markOrganizationDeleted } from "../../db/people/mod.ts";
import { timezoneRows } from "../../db/meter/mod.ts";
import { findOrganizationReference, organizationNumber } from "../../db/access/mod.ts";
import { DatabaseError } from "../../db/engine/database.ts";
import {
  findOperatedOrganization,
  hasTooManyKeys,
  insertOperatedOrganization,
  type MetadataChange,
  type OrganizationUse,
  requireMetadataFits,
  selectOrganization,
  type StoredOrganization,
  updateExternalId,
  updateMetadata,
  updateOperatedName,
} from "../../db/console/organizations.ts";
import type { OperatorActor } from "../../domain/access/actor.ts";
import { AppError, notFoundError, unavailableError, validationError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import { metadataKeysMax } from "../../domain/limits.ts";
import type {
  ListedOrganization,
  OperatedOrganization,
  OrganizationStatus,
} from "../../domain/console/organization.ts";
import {
  type Change,
  changesBatch,
  operatorAccessTo,
  organizationIdOf,
  resolveOrganization,
  rowOf,
  writeChange,
} from "../access/mod.ts";
import type { SessionContext } from "../context.ts";
import { createInvitation, statusChange } from "../people/mod.ts";
import type { PageInput } from "../pages.ts";
import { operatorReader } from "../reports/job_reader.ts";
import { type OrganizationFilter, toOrganization } from "./jobs/organization_list.ts";
import type { JobBytes } from "../reports/reports.ts";
import { type OrganizationPlanChange, planChangesOf, requirePlan } from "../billing/mod.ts";
import { readForOperator } from "./usage.ts";

/**
 * Lists organizations with their usage this month.
 *
 * @throws {AppError} `validation_failed` for an invalid cursor, an unknown plan and an unknown metric.
 */
export async function listOrganizations(
  context: SessionContext,
  actor: OperatorActor,
  input: OrganizationFilter & PageInput,
): Promise<{ organizations: ListedOrganization[]; nextCursor: string | null }> {
  await requireFilters(context, input);
  return await readForOperator(context, actor, { job: "readOrganizationPage", ...input });
}

/** Reads all organizations that match as CSV. @throws {AppError} As {@linkcode listOrganizations}; `unavailable`. */
export async function readOrganizationCsv(
  context: SessionContext,
  actor: OperatorActor,
  { filter, signal }: { filter: OrganizationFilter; signal: AbortSignal },
): Promise<JobBytes> {
  await requireFilters(context, filter);
  return await context.reports.bytes("organizationCsv", { ...filter, now: context.clock() }, {
    reader: operatorReader(actor),
    signal,
  });
}

async function requireFilters({ database }: SessionContext, { planId }: OrganizationFilter): Promise<void> {
  if (planId !== undefined) await requirePlan(database, planId, "plan");
}

/** @throws {AppError} `not_found`. */
export async function getOrganization(
  context: SessionContext,
  idText: string,
): Promise<OperatedOrganization> {
  return toOrganization(await findOrganization(context, idText));
}

async function findOrganization({ database, clock }: SessionContext, idText: string) {
  const id = await organizationIdOf({ database }, idText);
  const row = await findOperatedOrganization(database, id, clock());
  if (row === undefined) throw notFoundError();
  return row;
}

interface NewOrganizationInput {
  readonly name: string;
  readonly externalId?: string | null | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Default: the default plan. */
  readonly planId?: string | undefined;
  readonly timezone?: string | undefined;
  readonly owner?: { readonly email: string; readonly name?: string | undefined } | undefined;
}

/**
 * Creates an organization, and invites its owner in the same batch.
 *
 * @throws {AppError} `external_id_taken`, `validation_failed`; with an owner also `mail_unavailable`, `rate_limited`. Then nothing is
 *   written.
 */
export async function createOrganization(
  context: SessionContext,
  actor: OperatorActor,
  { name, externalId = null, metadata = {}, planId, timezone = "UTC", owner }: NewOrganizationInput,
): Promise<OperatedOrganization> {
  const now = context.clock();
  const id = newId("org");
  const entry = { action: "organization.created", organizationId: id, target: { id, name } } as const;
  const batch = changesBatch(actor, [{
    statement: insertOperatedOrganization({ id, name, externalId, metadata, planId, timezone, now }),
    entry,
    after: (audited) => [insertChangeEvent("organization.created", audited), ...timezoneRows(timezone, now)],
  }], now);
  const select = [selectOrganization(id)];
  const results = await withReferences(context, { id, externalId, planId }, async () => {
    if (owner === undefined) return await context.writeAs(actor, [...batch, ...select]);
    const invitation = { ...owner, role: "OWNER", before: batch, select } as const;
    return (await createInvitation(context, operatorAccessTo(actor, { id, name, timezone }), invitation))
      .results;
  });
  return toOrganization({ ...rowOf<StoredOrganization>(results, -1), ...noUse });
}

const noUse: OrganizationUse = { members: 0, activeApiKeys: 0, lastUsedAt: null, lastUsageQuarter: null };

/** Fields to change. Omitted fields keep their values. */
interface OrganizationChange extends OrganizationPlanChange {
  readonly name?: string | undefined;
  /** Null removes it. */
  readonly externalId?: string | null | undefined;
  readonly status?: OrganizationStatus | undefined;
  /** Values by key; null removes the key. Other keys stay. */
  readonly metadata?: MetadataChange | undefined;
}

/**
 * Changes an organization, with an audit entry for each field that changes. Applies all changes or none.
 *
 * @throws {AppError} `not_found`, `external_id_taken`, `validation_failed` for too many keys of metadata and an unknown plan.
 */
export async function changeOrganization(
  context: SessionContext,
  actor: OperatorActor,
  { idText, ...change }: OrganizationChange & { idText: string },
): Promise<OperatedOrganization> {
  const row = await findOrganization(context, idText);
  const before = toOrganization(row);
  const { id } = before;
  const { externalId = null, planId, metadata } = change;
  const changes = [...changesOf(context, before, change), ...await planChangesOf(context, before, change)];
  const batch = changesBatch(actor, changes, context.clock());
  const results = await withReferences(
    context,
    { id, externalId, planId, metadata },
    () =>
      context.writeAs(actor, [
        ...(metadata === undefined ? [] : [requireMetadataFits(id, metadata)]),
        ...batch,
        selectOrganization(id),
      ]),
  );
  if (changes.length > 0) {
    await context.recorder.checkChangedLimits({ column: "organization", number: organizationNumber(id) });
  }
  return toOrganization({ ...row, ...rowOf<StoredOrganization>(results, -1) });
}

/** Deletes an organization as its owners can, effective immediately. @throws {AppError} `not_found`. */
export async function deleteOrganization(
  context: SessionContext,
  actor: OperatorActor,
  idText: string,
): Promise<void> {
  const { id, name } = await resolveOrganization(context, idText);
  const isDeleted = await writeChange(context, actor, {
    statement: markOrganizationDeleted({ id, now: context.clock() }),
    entry: { action: "organization.deleted", organizationId: id, target: { id, name } },
    after: (audited) => endOrganizationAccess(id, audited),
  });
  if (!isDeleted) throw notFoundError();
}

function changesOf(
  context: SessionContext,
  { id, name: from, externalId: fromExternalId }: OperatedOrganization,
  { name, externalId, status, metadata }: OrganizationChange,
): Change[] {
  const about = { organizationId: id, target: { id, name: name ?? from } };
  const changes: Change[] = [];
  if (name !== undefined) {
    const entry = { ...about, action: "organization.renamed", details: { from, to: name } } as const;
    changes.push({ statement: updateOperatedName(id, name), entry });
  }
  if (externalId !== undefined) {
    const details = {
      ...(fromExternalId === null ? {} : { from: fromExternalId }),
      ...(externalId === null ? {} : { to: externalId }),
    };
    const entry = { ...about, action: "organization.external_id_changed", details } as const;
    changes.push({ statement: updateExternalId(id, externalId), entry });
  }
  if (metadata !== undefined) {
    const entry = { ...about, action: "organization.metadata_changed" } as const;
    changes.push({ statement: updateMetadata(id, metadata), entry });
  }
  if (status !== undefined) {
    changes.push(statusChange(context, { organizationId: id, organizationName: name ?? from }, status));
  }
  return changes;
}

/**
 * Writes an organization with an external id, a plan, or metadata.
 *
 * @throws {AppError} `external_id_taken`, `validation_failed` for an unknown plan and too many keys of metadata, and what `write` throws.
 */
async function withReferences<T>(
  { database }: SessionContext,
  { id, externalId, planId, metadata }: {
    readonly id: string;
    readonly externalId: string | null;
    readonly planId: string | undefined;
    readonly metadata?: MetadataChange | undefined;
  },
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof DatabaseError && error.kind === "constraint")) throw error;
    if (planId !== undefined) await requirePlan(database, planId);
    if (metadata !== undefined && await hasTooManyKeys(database, id, metadata)) {
      throw validationError([{ path: "metadata", message: `must have at most ${metadataKeysMax} keys.` }]);
    }
    const other = externalId === null ? undefined : await findOrganizationReference(database, { externalId });
    if (other === undefined || other.id === id) {
      throw metadata === undefined
        ? error
        : unavailableError("Someone else just changed the organization. Try again.");
    }
    throw new AppError("external_id_taken", `Another organization (${other.id}) has this external id.`);
  }
}
