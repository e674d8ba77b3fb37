// Organizations for operators: list, create, change, suspend, resume, delete.
import { endOrganizationAccess, markOrganizationDeleted } from "../../db/organization/organizations.ts";
import { timezoneRows } from "../../db/meter/limit_windows.ts";
import { insertAuditEvent } from "../../db/audit.ts";
import { DatabaseError } from "../../db/engine/database.ts";
import {
  findOrganizationReference,
  insertOperatedOrganization,
  type OrganizationReference,
  updateExternalId,
  updateMetadata,
  updateOperatedName,
  updateStatus,
} from "../../db/operator/organizations.ts";
import type { OperatorActor } from "../../domain/actor.ts";
import { AppError, notFoundError, validationError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { metadataKeysMax } from "../../domain/limits.ts";
import {
  externalIdPrefix,
  type OperatedOrganization,
  type OrganizationStatus,
} from "../../domain/operator/organization.ts";
import { type Change, writeChange } from "../change.ts";
import type { SessionContext } from "../context.ts";
import { inviteToOrganization } from "../organization/invitations.ts";
import type { PageInput } from "../pages.ts";
import type { OrganizationFilter } from "./organization_list.ts";
import { type OrganizationPlanChange, planChangesOf, requirePlan } from "./organization_plan.ts";

/**
 * Finds the organization that a path or a record names.
 *
 * @param idText Its id, or `external:` and its external id.
 * @throws {AppError} `not_found`.
 */
export async function resolveOrganization(
  { database }: Pick<SessionContext, "database">,
  idText: string,
): Promise<OrganizationReference> {
  const organization = idText.startsWith(externalIdPrefix)
    ? await findOrganizationReference(database, { externalId: idText.slice(externalIdPrefix.length) })
    : isId("org", idText)
    ? await findOrganizationReference(database, { id: idText })
    : undefined;
  if (organization === undefined) throw notFoundError();
  return organization;
}

/** Lists organizations, the newest first or by name. @throws {AppError} `validation_failed` for an invalid cursor. */
export async function listOrganizations(
  { reports, clock }: SessionContext,
  input: OrganizationFilter & PageInput,
): Promise<{ organizations: OperatedOrganization[]; nextCursor: string | null }> {
  return await reports.read("readOrganizationPage", { ...input, now: clock() });
}

/** @throws {AppError} `not_found`. */
export async function getOrganization(
  context: SessionContext,
  idText: string,
): Promise<OperatedOrganization> {
  const { reports, clock } = context;
  const { id } = await resolveOrganization(context, idText);
  // Counted on the reports thread: an organization can have any number of revoked keys.
  const organization = await reports.read("readOrganization", { id, now: clock() });
  if (organization === null) throw notFoundError();
  return organization;
}

/** What creating an organization takes. */
export interface NewOrganizationInput {
  readonly name: string;
  readonly externalId?: string | null | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The default plan by default. */
  readonly planId?: string | undefined;
  /** An IANA name. */
  readonly timezone?: string | undefined;
  /** Who is invited as its owner. */
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
  const batch = [
    insertOperatedOrganization({ id, name, externalId, metadata, planId, timezone, now }),
    insertAuditEvent(actor, entry, { now }).statement,
    ...timezoneRows(timezone, now),
  ];
  await withReferences(context, { id, externalId, planId }, async () => {
    if (owner === undefined) await context.writeAs(actor, batch);
    else {
      const organization = { id, name };
      await inviteToOrganization(context, actor, { ...owner, organization, role: "OWNER", before: batch });
    }
  });
  return await getOrganization(context, id);
}

/** What to change; what is left out stays. */
export interface OrganizationChange extends OrganizationPlanChange {
  readonly name?: string | undefined;
  /** Null removes it. */
  readonly externalId?: string | null | undefined;
  readonly status?: OrganizationStatus | undefined;
  /** Values by key; null removes the key. Other keys stay. */
  readonly metadata?: Readonly<Record<string, string | null>> | undefined;
}

/**
 * Changes an organization, with an audit entry for each thing that is not what it was. All changes are made or none.
 *
 * @throws {AppError} `not_found`, `external_id_taken`, `validation_failed` for too many keys of metadata and an unknown plan.
 */
export async function changeOrganization(
  context: SessionContext,
  actor: OperatorActor,
  { idText, ...change }: OrganizationChange & { idText: string },
): Promise<OperatedOrganization> {
  const before = await getOrganization(context, idText);
  const { id } = before;
  requireMetadataFits(before, change.metadata);
  const now = context.clock();
  const changes = [...changesOf(before, change, now), ...await planChangesOf(context, before, change)];
  const batch = changes.flatMap(({ statement, entry, after }) => {
    const audit = insertAuditEvent(actor, entry, { now });
    return [statement, audit.statement, ...(after?.({ now, audited: audit.id }) ?? [])];
  });
  const { externalId = null, planId } = change;
  await withReferences(context, { id, externalId, planId }, () => context.writeAs(actor, batch));
  const after = await getOrganization(context, id);
  // Someone else added keys at the same time.
  requireMetadataFits(after, change.metadata);
  return after;
}

/**
 * Deletes an organization as its owners can. Its keys, memberships and invitations end immediately.
 *
 * @throws {AppError} `not_found`.
 */
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
  { id, name: from, externalId: fromExternalId }: OperatedOrganization,
  { name, externalId, status, metadata }: OrganizationChange,
  now: number,
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
    changes.push({ statement: updateMetadata(id, metadata, { keysMax: metadataKeysMax }), entry });
  }
  if (status !== undefined) {
    const action = status === "suspended" ? "organization.suspended" : "organization.resumed";
    changes.push({ statement: updateStatus(id, { status, now }), entry: { ...about, action } });
  }
  return changes;
}

/** @throws {AppError} `validation_failed` if metadata would have too many keys after a change. */
function requireMetadataFits(
  { metadata }: OperatedOrganization,
  change: OrganizationChange["metadata"] = {},
) {
  const after = Object.entries({ ...metadata, ...change }).filter(([, value]) => value !== null);
  if (after.length <= metadataKeysMax) return;
  throw validationError([{ path: "metadata", message: `must have at most ${metadataKeysMax} keys.` }]);
}

/**
 * Writes an organization with an external id or a plan.
 *
 * @throws {AppError} `external_id_taken`, `validation_failed` for an unknown plan, and what `write` throws.
 */
async function withReferences(
  { database }: SessionContext,
  { id, externalId, planId }: { id: string; externalId: string | null; planId: string | undefined },
  write: () => Promise<unknown>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof DatabaseError && error.kind === "constraint")) throw error;
    if (planId !== undefined) await requirePlan(database, planId);
    const other = externalId === null ? undefined : await findOrganizationReference(database, { externalId });
    if (other === undefined || other.id === id) throw error;
    throw new AppError("external_id_taken", `Another organization (${other.id}) has this external id.`);
  }
}
