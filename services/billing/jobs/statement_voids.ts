// Voided records of a month, added up by the reports thread for a statement of one organization.
import { findVoidedPart, type VoidedRow } from "../../../db/billing/statement_voids.ts";
import { statementStepLinesMax } from "../../../domain/limits.ts";
import { microsToDecimal, quantityMicros } from "../../../domain/meter/quantity.ts";
import type { StatementVoid } from "../../../domain/billing/statement.ts";
import { catalogueOrder, type Product } from "../../../domain/meter/product.ts";
import type { JobContext } from "../../reports/job_context.ts";
import type { StatementMonth } from "./statement_charges.ts";

/** Sums voided records that are still stored, in the order of the catalogue. */
export async function readVoided(
  context: JobContext,
  { month, organizationId, products }: {
    month: StatementMonth;
    organizationId: string;
    products: readonly Pick<Product, "slug" | "name" | "metrics">[];
  },
): Promise<StatementVoid[]> {
  const sums = new Map<string, { productSlug: string; metric: string; records: number; micros: bigint }>();
  let rows: VoidedRow[] = [];
  do {
    if (rows.length > 0) await context.pause();
    const query = { organizationId, ...month, after: rows.at(-1), limit: statementStepLinesMax };
    rows = await findVoidedPart(context.database, query);
    for (const { productSlug, metric, whole, micro } of rows) {
      const name = `${productSlug} ${metric}`;
      const sum = sums.get(name) ?? { productSlug, metric, records: 0, micros: 0n };
      sum.records++;
      sum.micros += quantityMicros({ whole, micro });
      sums.set(name, sum);
    }
  } while (rows.length === statementStepLinesMax);
  return [...sums.values()].sort(catalogueOrder(products)).map(({ productSlug, metric, records, micros }) => {
    const product = products.find(({ slug }) => slug === productSlug);
    const known = product?.metrics.find(({ slug }) => slug === metric);
    return {
      productSlug,
      productName: product?.name ?? null,
      metric,
      metricName: known?.name ?? null,
      unit: known?.unit ?? null,
      quantity: microsToDecimal(micros),
      records,
    };
  });
}
