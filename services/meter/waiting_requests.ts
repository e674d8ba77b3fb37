// Requests that wait until counters of limits are known. Windows of an organization are summed for its first requests; those that
// arrive meanwhile are tried again afterwards, when they usually need no other windows.
import type { LimitCell } from "../../db/meter/limit_counters.ts";
import type { PendingRequest } from "./commit_group.ts";
import { Amount, type QueueAmount, queueFullError } from "./fair_queue.ts";
import { type CounterContext, prepareLimitCounters } from "./limit_counters.ts";

/** A request, and the counters that it needs. */
export interface WaitingRequest {
  readonly request: PendingRequest;
  /** At least one, all of its organization. */
  readonly cells: readonly LimitCell[];
}

/** The requests of one organization. */
class Share {
  /** Whose windows are being summed. */
  readonly first: PendingRequest[] = [];
  readonly later: PendingRequest[] = [];
  readonly amount = new Amount();
}

/** Keeps waiting requests, and gives them back when their counters are known. */
export class WaitingRequests {
  readonly #context: CounterContext;
  readonly #shareMax: QueueAmount;
  readonly #retry: (requests: readonly PendingRequest[]) => void;
  readonly #shares = new Map<number, Share>();

  /** @param options `shareMax`: what may wait of one organization. `retry`: takes requests back, none if they were rejected. */
  constructor(
    context: CounterContext,
    { shareMax, retry }: {
      shareMax: QueueAmount;
      retry: (requests: readonly PendingRequest[]) => void;
    },
  ) {
    this.#context = context;
    this.#shareMax = shareMax;
    this.#retry = retry;
  }

  /** Whether no request waits. */
  get isEmpty(): boolean {
    return this.#shares.size === 0;
  }

  /** Adds requests, and rejects those of an organization with too many. */
  add(waiting: readonly WaitingRequest[]): void {
    const started = new Map<number, Share>();
    const missing: LimitCell[] = [];
    for (const { request, cells } of waiting) {
      const organization = cells[0]?.organization ?? 0;
      const share = this.#shares.get(organization) ?? new Share();
      if (!this.#shares.has(organization)) started.set(organization, share);
      this.#shares.set(organization, share);
      if (share.amount.records > 0 && !share.amount.hasRoom(request, this.#shareMax)) {
        request.reject(queueFullError());
        continue;
      }
      share.amount.add(request);
      if (!started.has(organization)) {
        share.later.push(request);
        continue;
      }
      share.first.push(request);
      missing.push(...cells);
    }
    if (started.size > 0) this.#prepare(started, missing);
  }

  async #prepare(started: Map<number, Share>, cells: readonly LimitCell[]): Promise<void> {
    const end = (organization: number) => {
      const share = started.get(organization) ?? new Share();
      started.delete(organization);
      this.#shares.delete(organization);
      return share;
    };
    try {
      await prepareLimitCounters(this.#context, cells, (organization) => {
        const { first, later } = end(organization);
        this.#retry([...first, ...later]);
      });
    } catch (error) {
      for (const organization of [...started.keys()]) {
        const { first, later } = end(organization);
        for (const request of first) request.reject(error);
        this.#retry(later);
      }
    }
  }
}
