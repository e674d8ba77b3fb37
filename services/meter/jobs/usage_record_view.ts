// The portal's list of records with the choices of its filters, read by the reports thread.
import { findNamedKey } from "../../../db/access/mod.ts";
import { listUsageKeys } from "../../../db/meter/usage_sums.ts";
import { AppError } from "../../../domain/errors.ts";
import { usagePageChoicesMax } from "../../../domain/limits.ts";
import type { JobContext, JobScope } from "../../reports/job_context.ts";
import { findCatalogue } from "./catalogue.ts";
import { readUsageNames, withDistinctNames } from "./usage_page.ts";
import { readUsageRecordPage, type UsageRecordPageQuery } from "./usage_record_list.ts";

export type UsageRecordView = Awaited<ReturnType<typeof readUsageRecordView>>;

/** Reads a page of records and the choices of its filters. With an unknown cursor, it reads the newest page. */
export async function readUsageRecordView(context: JobContext, input: JobScope & UsageRecordPageQuery) {
  const { database } = context;
  const { organizationId, now } = input;
  const alsoId = input.apiKey?.[0] ?? null;
  const environment = input.environment ??
    (await findNamedKey(database, { id: alsoId, organizationId }))?.environment ?? "live";
  const keys = await listUsageKeys(database, {
    organizationId,
    environment,
    alsoId,
    limit: usagePageChoicesMax,
    now,
  });
  const { productSlugs, metrics } = await readUsageNames(context, { organizationId, environment, now });
  const choices = {
    products: productSlugs,
    metrics,
    apiKeys: withDistinctNames(keys),
  };
  const query = { ...input, environment, mergeRotations: true };
  const catalogue = await findCatalogue(context, { organizationId });
  try {
    return { choices, catalogue, environment, ...await readUsageRecordPage(context, query) };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "validation_failed") throw error;
    const { cursor: _cursor, newerThan: _newerThan, ...newest } = query;
    return { choices, catalogue, environment, ...await readUsageRecordPage(context, newest) };
  }
}
