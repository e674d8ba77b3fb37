// The results of holds and settlements after the commit of their group.
import type { Beyond, HoldOutcome } from "../../db/meter/hold_group.ts";
import { parseHeld } from "../../db/meter/hold_counts.ts";
import { toVerifiableKey, type VerifiableKey } from "../../db/meter/key_verification.ts";
import type { GroupTarget } from "../../db/meter/recorder.ts";
import type { LimitCell } from "../../db/meter/recorder_limits.ts";
import type { HoldRecord, StoredHold } from "../../domain/meter/hold.ts";
import { microsToNumber, sumMicros } from "../../domain/meter/quantity.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import type { UsageRecord } from "../../domain/meter/usage_record.ts";
import type { GroupRequest, RecordedUsage } from "./commit_group.ts";
import type { CommitRest } from "./commit_queue.ts";
import type { GroupResults } from "./commit_results.ts";

/** A limit that the windows of a settlement exceed, by at most its own quantity. */
export interface BeyondLimit {
  readonly limitId: string;
  readonly quantity: number;
}

/** A hold after a group. `isDone`: it was made or settled by the request itself. */
export interface HeldResult {
  readonly hold: StoredHold;
  readonly isDone: boolean;
  /** Of a new hold or its repeat: the key, if an operator verified it. */
  readonly key: VerifiableKey | null;
  readonly limits: readonly LimitStanding[];
  readonly usageRecords: readonly UsageRecord[];
  readonly beyond: readonly BeyondLimit[];
}

/** The hold exists and wasn't settled, but nothing of the group says why: the key may not, or it is too late. */
export interface Unsettled {
  readonly hold: StoredHold | undefined;
  readonly isDone: false;
}

export const verifiedKey = (row: GroupTarget["key"]): VerifiableKey | null =>
  row === undefined ? null : toVerifiableKey(row);

export interface Waiting {
  readonly resolve: (result: HeldResult | Unsettled) => void;
  readonly reject: (error: unknown) => void;
}
/** A request's records as the recorder takes them, and what it is told about them. */
export interface Built {
  readonly request: GroupRequest;
  recorded?: RecordedUsage;
  error?: unknown;
}

export function groupRequests<T extends { readonly records: readonly HoldRecord[] }>(
  requests: readonly T[],
  of: (request: T) => Pick<GroupRequest, "target"> & { readonly timestamp: number | null },
): Built[] {
  return requests.map((request) => {
    const { target, timestamp } = of(request);
    const built: Built = {
      request: {
        target,
        // Settlements are never judged.
        asks: true,
        inputs: request.records.map((record) => ({ ...record, timestamp, idempotencyKey: null })),
        repeats: null,
        resolve: (recorded) => built.recorded = recorded,
        reject: (error) => built.error = error,
      },
    };
    return built;
  });
}

export type Found =
  | { readonly result: HeldResult }
  | { readonly error: () => unknown }
  | { readonly cells: readonly LimitCell[] }
  | "retry";

/** Returns what became of a request whose hold was chosen. */
export function resultOf(
  results: GroupResults,
  { built, index, done, isDone }: {
    built: readonly Built[];
    index: number;
    done: HoldOutcome;
    isDone: boolean;
  },
): Found {
  const own = built[index];
  if (own === undefined) throw new Error("a result without a request");
  const found = own.request.inputs.length === 0 ? null : results.of(own.request, index);
  if (found === "retry" || (found !== null && "cells" in found)) return found;
  found?.complete();
  if (own.error !== undefined) return { error: () => own.error };
  const hold = done.holds.get(index);
  if (hold === undefined) throw new Error("a hold was acknowledged that was not made");
  const { recorded } = own;
  return {
    result: {
      hold,
      isDone,
      key: recorded?.key ?? null,
      limits: recorded?.limits ?? [],
      usageRecords: own.request.inputs.flatMap((_, input) => recorded?.usageRecord(input) ?? []),
      beyond: [],
    },
  };
}

export function completeAll<T extends Waiting>(
  requests: readonly T[],
  of: (request: T, index: number) => Found | { readonly result: Unsettled },
): CommitRest<T> {
  const retries: T[] = [];
  const waiting: { request: T; cells: readonly LimitCell[] }[] = [];
  const completions: (() => void)[] = [];
  for (const [index, request] of requests.entries()) {
    const found = of(request, index);
    if (found === "retry") retries.push(request);
    else if ("cells" in found) waiting.push({ request, cells: found.cells });
    else if ("error" in found) completions.push(() => request.reject(found.error()));
    else completions.push(() => request.resolve(found.result));
  }
  for (const complete of completions) complete();
  return { retries, waiting };
}

/** Returns by how much the limits of a settlement are exceeded. */
export function beyondOf(all: readonly Beyond[], id: string): BeyondLimit[] {
  const micros = ([high, low, micro]: Beyond["own"]) => sumMicros({ high, low, micro });
  return all.filter((one) => one.id === id).flatMap(({ limitId, own, used, held, whole, micro }) => {
    const over = micros(used) + sumMicros(parseHeld(held)) - sumMicros({ high: "0", low: whole, micro });
    const most = micros(own);
    const quantity = over < most ? over : most;
    return quantity > 0n ? [{ limitId, quantity: microsToNumber(quantity) }] : [];
  });
}
