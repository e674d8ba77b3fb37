// Usage: recording goes to the recorder, reading to the reports thread.
import { findActiveApiKey } from "../../db/api_keys.ts";
import { AppError, invalidApiKeyError } from "../../domain/errors.ts";
import { mayDo } from "../../domain/permissions.ts";
import type { Session } from "../../domain/sign_in/session.ts";
import type { UsageInput } from "../../domain/meter/usage_record.ts";
import type { BaseContext } from "../base_context.ts";
import type { RecordedUsage } from "./record_group.ts";
import type { Recorder } from "./recorder.ts";
import type { ReportScope } from "../reports/report_context.ts";
import type { ReportBytes, Reports } from "../reports/reports.ts";
import type { UsageCounts } from "./usage_counts.ts";
import type { UsagePageInput, UsagePageNumbers } from "./usage_page.ts";
import type { UsageReadInput } from "./usage_sums.ts";

/** The verbs of usage. Those that read are cancelled by their signal. */
export interface UsageService {
  /**
   * Records one request's usage under an API key, which is given by its hash.
   *
   * @returns What became of the records, once they are on disk.
   * @throws {AppError} As {@linkcode Recorder.record}.
   */
  recordUsage(keyHash: string, inputs: readonly UsageInput[], bytes: number): Promise<RecordedUsage>;
  /** @returns Whether a key works at this moment. */
  isActiveApiKey(keyHash: string): Promise<boolean>;
  /**
   * Adds up usage of the key's organization.
   *
   * @returns JSON. @throws {AppError} `invalid_api_key`, `validation_failed`, `range_too_long`, `unavailable`.
   */
  readUsageByApiKey(keyHash: string, input: UsageReadInput, signal: AbortSignal): Promise<ReportBytes>;
  /** The same as CSV, of any length. @returns Its head is the range, such as `2026-11-01-2026-12-01`. */
  readUsageCsvByApiKey(keyHash: string, input: UsageReadInput, signal: AbortSignal): Promise<ReportBytes>;
  /** Adds up usage of the active organization. @returns JSON. @throws {AppError} `forbidden`, and as above. */
  readUsage(session: Session, input: UsageReadInput, signal: AbortSignal): Promise<ReportBytes>;
  /** The same as CSV, of any length. @returns Its head is the range, such as `2026-11-01-2026-12-01`. */
  readUsageCsv(session: Session, input: UsageReadInput, signal: AbortSignal): Promise<ReportBytes>;
  /** @returns What the usage page shows of the active organization. @throws {AppError} `forbidden`, `unavailable`. */
  readUsagePage(session: Session, input: UsagePageInput, signal: AbortSignal): Promise<UsagePageNumbers>;
  /** @returns How many records some keys of the active organization have, by window. @throws {AppError} As above. */
  countUsageOfApiKeys(
    session: Session,
    input: UsageReadInput & { readonly apiKeyIds: readonly string[] },
    signal: AbortSignal,
  ): Promise<UsageCounts>;
}

/** @param context See {@linkcode BaseContext}. @param parts Where records go, and where they are added up. */
export function createUsageService(
  { database, clock }: BaseContext,
  { recorder, reports }: { recorder: Recorder; reports: Reports },
): UsageService {
  const scope = (session: Session): ReportScope => ({
    organizationId: organizationOf(session),
    now: clock(),
  });
  async function scopeOfKey(keyHash: string): Promise<ReportScope> {
    const now = clock();
    const key = await findActiveApiKey(database, keyHash, now);
    if (key === undefined) throw invalidApiKeyError();
    return { organizationId: key.organizationId, now };
  }

  return {
    recordUsage: (keyHash, inputs, bytes) => recorder.record({ keyHash, inputs, bytes }),
    isActiveApiKey: async (keyHash) => await findActiveApiKey(database, keyHash, clock()) !== undefined,
    readUsageByApiKey: async (keyHash, input, signal) =>
      await reports.bytes("usageJson", { ...input, ...await scopeOfKey(keyHash) }, signal),
    readUsageCsvByApiKey: async (keyHash, input, signal) =>
      await reports.bytes("usageCsv", { ...input, ...await scopeOfKey(keyHash) }, signal),
    readUsage: async (session, input, signal) =>
      await reports.bytes("usageJson", { ...input, ...scope(session) }, signal),
    readUsageCsv: async (session, input, signal) =>
      await reports.bytes("usageCsv", { ...input, ...scope(session) }, signal),
    readUsagePage: async (session, input, signal) =>
      await reports.read("usagePage", { ...input, ...scope(session) }, signal),
    countUsageOfApiKeys: async (session, input, signal) =>
      await reports.read("usageCounts", { ...input, ...scope(session) }, signal),
  };
}

/** @returns The active organization's id. @throws {AppError} `forbidden` to who may not see its usage. */
export function organizationOf(session: Session): string {
  const { organization } = session;
  if (organization === null || !mayDo(organization.role, "usage.read")) {
    throw new AppError("forbidden", "You do not belong to an organization whose usage you may see.");
  }
  return organization.organizationId;
}
