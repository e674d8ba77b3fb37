// The result of a dry run: counts and exact sums, the range of time, and the organizations that don't exist.
import { importSeriesMax } from "../../domain/transfer_limits.ts";
import { microsToDecimal, quantityMicros } from "../../domain/meter/quantity.ts";
import { countOf } from "../../domain/number_text.ts";
import { isoTime } from "../../domain/time.ts";
import { externalIdPrefix } from "../../domain/console/organization.ts";
import { defaultQuantityProperty } from "../../domain/meter/usage_record.ts";
import type { ImportedRecord } from "../../routes/meter/schemas/imported_usage.ts";
import { CommandError, exitStatus } from "../settings.ts";
import { textTable } from "../text_table.ts";
import type { OperatorApi } from "./operator_api.ts";

interface Sum {
  records: number;
  micros: bigint;
}

/** Never an external id, which is ASCII. */
const others = "…";

export class DryRun {
  readonly #sums = new Map<string, Sum>();
  #first = Infinity;
  #last = -Infinity;
  #records = 0;
  #countedAsOne = 0;

  add({ externalId, usage, isCountedAsOne }: ImportedRecord): void {
    const name = JSON.stringify([externalId, usage.productSlug, usage.metric]);
    const isKept = this.#sums.has(name) || this.#sums.size < importSeriesMax;
    const key = isKept ? name : JSON.stringify([others, others, others]);
    const sum = this.#sums.get(key) ?? { records: 0, micros: 0n };
    sum.records++;
    sum.micros += quantityMicros(usage.quantity);
    this.#sums.set(key, sum);
    this.#first = Math.min(this.#first, usage.timestamp);
    this.#last = Math.max(this.#last, usage.timestamp);
    this.#records++;
    if (isCountedAsOne) this.#countedAsOne++;
  }

  /**
   * Checks which organizations exist.
   *
   * @param api Undefined without a token.
   * @returns Lines to print, and how many records would be rejected because their organization doesn't exist.
   */
  async report(api: OperatorApi | undefined): Promise<{ lines: string[]; rejected: number }> {
    const rows = [...this.#sums].map(([name, sum]) => ({ names: JSON.parse(name) as string[], ...sum }))
      .sort((a, b) => a.names.join("\n") < b.names.join("\n") ? -1 : 1);
    const lines = textTable(["ORGANIZATION", "PRODUCT", "METRIC", "RECORDS", "SUM"])(
      rows.map(({ names, records, micros }) => [...names, String(records), microsToDecimal(micros)]),
    );
    const range = this.#records === 0 ? "" : ` from ${isoTime(this.#first)} to ${isoTime(this.#last)}`;
    lines.push("", `${countOf(this.#records, "record")}${range}. Repeated ids are counted each time.`);
    if (this.#countedAsOne > 0) {
      const counted = `${
        countOf(this.#countedAsOne, "event")
      } without the property ${defaultQuantityProperty}`;
      lines.push(`${counted}: each counts as 1. See --quantity-property.`);
    }
    const recordsOf = new Map<string, number>();
    for (const { names: [externalId = ""], records } of rows) {
      recordsOf.set(externalId, (recordsOf.get(externalId) ?? 0) + records);
    }
    let rejected = 0;
    if (api === undefined) {
      lines.push("The organizations were not checked: there is no operator token.");
      return { lines, rejected };
    }
    for (const [externalId, records] of recordsOf) {
      if (externalId === others || await exists(api, externalId)) continue;
      rejected += records;
      lines.push(`No organization has the external id “${externalId}” (${countOf(records, "record")}).`);
    }
    return { lines, rejected };
  }
}

async function exists(api: OperatorApi, externalId: string): Promise<boolean> {
  const path = `/api/operator/organizations/${externalIdPrefix}${encodeURIComponent(externalId)}`;
  const { status, body } = await api.send(path);
  if (status === 200 || status === 404) return status === 200;
  throw new CommandError(
    `checking organizations: ${body.error?.message ?? `status ${status}`}`,
    exitStatus.config,
  );
}
