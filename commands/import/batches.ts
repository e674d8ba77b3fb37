// Collects records into requests as large as the server takes, sends them in order, and finds the lines of those it rejects.
import { usageBatchRecordsMax, usageBodyBytesMax } from "../../domain/limits.ts";
import { microsToDecimal, quantityMicros } from "../../domain/meter/quantity.ts";
import { isoTime } from "../../domain/time.ts";
import type { ImportedRecord } from "../../routes/meter/schemas/imported_usage.ts";
import { CommandError, exitStatus } from "../settings.ts";
import type { OperatorApi } from "./operator_api.ts";

/** The end of a line in the file. */
export interface Position {
  readonly offset: number;
  readonly line: number;
  readonly leftOut: number;
}

interface Item {
  /** The position before the item's line. */
  readonly before: Position;
  readonly json: string;
}

interface RejectedLine {
  readonly before: Position;
  readonly message: string;
}

const encoder = new TextEncoder();
const emptyBody = '{"records":[]}';

export class Batch {
  readonly #api: OperatorApi;
  #items: Item[] = [];
  #bytes = emptyBody.length;

  constructor(api: OperatorApi) {
    this.#api = api;
  }

  /** Returns false if the record doesn't fit in: send the others first. */
  add(before: Position, { externalId, usage }: ImportedRecord): boolean {
    const json = JSON.stringify({
      ...usage,
      externalId,
      // A number may not hold all digits.
      quantity: microsToDecimal(quantityMicros(usage.quantity)),
      timestamp: isoTime(usage.timestamp),
    });
    const bytes = encoder.encode(json).length + 1;
    const { length } = this.#items;
    if (length === usageBatchRecordsMax || (length > 0 && this.#bytes + bytes > usageBodyBytesMax)) {
      return false;
    }
    this.#items.push({ before, json });
    this.#bytes += bytes;
    return true;
  }

  /**
   * Sends and removes all records up to the first one that the server rejects; that one only with `skipsInvalid`.
   *
   * @returns The rejected lines. Without `skipsInvalid`, at most one, whose predecessors were sent.
   * @throws {CommandError}
   */
  async send({ skipsInvalid }: { skipsInvalid: boolean }) {
    let items = this.#items;
    [this.#items, this.#bytes] = [[], emptyBody.length];
    const rejected: RejectedLine[] = [];
    while (items.length > 0) {
      const body = `{"records":[${items.map(({ json }) => json).join(",")}]}`;
      const response = await this.#api.send("/api/operator/usage", body);
      const { status, body: { accepted = 0, duplicates = 0, error } } = response;
      if (status === 201) return { accepted, duplicates, rejected };
      const faults = new Map<number, string>();
      for (const { path, message } of error?.details ?? []) {
        const [, index, field] = /^records\[(\d+)\]\.?(.*)$/.exec(path) ?? [];
        if (index !== undefined && !faults.has(Number(index))) {
          faults.set(Number(index), field ? `“${field}”: ${message}` : message);
        }
      }
      if (faults.size === 0) throw new CommandError(error?.message ?? `status ${status}`, statusFor(status));
      const first = Math.min(...faults.keys());
      const bad = skipsInvalid ? [...faults] : [[first, faults.get(first) ?? ""] as const];
      if (!skipsInvalid) rejected.length = 0;
      for (const [index, message] of bad) {
        const before = items[index]?.before;
        if (before !== undefined) rejected.push({ before, message });
      }
      items = skipsInvalid ? items.filter((_, index) => !faults.has(index)) : items.slice(0, first);
    }
    return { accepted: 0, duplicates: 0, rejected };
  }
}

function statusFor(status: number): number {
  // A token without the scope is a wrong setting.
  if (status === 403) return exitStatus.config;
  return status >= 500 ? exitStatus.busy : exitStatus.data;
}
