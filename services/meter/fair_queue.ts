// The recorder's queue, shared by round robin: every organization has a bounded share, and a group is taken from the shares
// one after the other. An organization that fills its share delays only itself.

import { type AppError, unavailableError } from "../../domain/errors.ts";

/** @returns The error for a request that has no room. */
export function queueFullError(): AppError {
  return unavailableError("Too many records are waiting to be written. Try again shortly.");
}

/** What the queue needs to know of a request. */
export interface QueuedRequest {
  readonly organizationId: string;
  /** Of its API key. */
  readonly keyHash: string;
  /** As what the key records. */
  readonly target: string;
  readonly inputs: readonly { readonly idempotencyKey: string | null }[];
  /** Size of the request's body. */
  readonly bytes: number;
}

/** A number of records and of bytes. */
export interface QueueAmount {
  readonly records: number;
  readonly bytes: number;
}

/** How much may be queued, and how much is taken. */
export interface QueueLimits {
  /** Queued, of all organizations. */
  readonly total: QueueAmount;
  /** Queued, of one organization. */
  readonly share: QueueAmount;
  /** Taken from one organization before the next one is served. */
  readonly quantum: QueueAmount;
  /** Taken as one group. A larger request is taken alone. */
  readonly group: QueueAmount;
}

/** Queued requests, by organization. */
export class FairQueue<T extends QueuedRequest> {
  readonly #limits: QueueLimits;
  /** Only organizations with queued requests; the first is served next. */
  readonly #shares = new Map<string, Share<T>>();
  readonly #held = new Set<string>();
  readonly #total = new Amount();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** The number of queued records. */
  get records(): number {
    return this.#total.records;
  }

  get isEmpty(): boolean {
    return this.#shares.size === 0;
  }

  /** True if {@linkcode take} would return requests. */
  get canTake(): boolean {
    if (this.#held.size === 0) return !this.isEmpty;
    return this.#shares.keys().some((organizationId) => !this.#held.has(organizationId));
  }

  /** Takes no requests of an organization until it is released. */
  hold(organizationId: string): void {
    this.#held.add(organizationId);
  }

  /** Ends {@linkcode hold}. */
  release(organizationId: string): void {
    this.#held.delete(organizationId);
  }

  /**
   * Adds a request. When the whole queue is full, the newest requests of the organization with the largest share are evicted:
   * an organization with less than an equal part of the queue never loses a request.
   *
   * @returns The requests to reject, which are not in the queue: none, the request itself, or those evicted for it.
   */
  add(request: T): readonly T[] {
    const { organizationId } = request;
    const share = this.#shares.get(organizationId) ?? new Share<T>();
    if (!share.amount.hasRoom(request, this.#limits.share)) return [request];
    this.#shares.set(organizationId, share);
    share.requests.push(request);
    share.amount.add(request);
    this.#total.add(request);
    const evicted: T[] = [];
    const { total } = this.#limits;
    while (this.#total.records > total.records || this.#total.bytes > total.bytes) {
      const newest = this.#removeNewest(organizationId);
      if (newest === undefined) break;
      evicted.push(newest);
    }
    return evicted;
  }

  /**
   * Takes the requests of one group from the organizations by round robin, in order of arrival within each of them. A request
   * that shares an idempotency key with another of its organization in the group, or the API key but not its target, is left for a
   * later group.
   */
  take(): T[] {
    const group: Group<T> = { requests: [], amount: new Amount() };
    const visited = new Map<string, Share<T>>();
    const rounds = [...this.#shares].filter(([organizationId]) => !this.#held.has(organizationId));
    // Grows while it is iterated: an organization with more requests is served again after all others.
    for (const [organizationId, share] of rounds) {
      visited.set(organizationId, share);
      const reason = share.takeQuantum(group, this.#limits);
      if (reason === "group full") break;
      this.#shares.delete(organizationId);
      this.#shares.set(organizationId, share);
      if (reason === "quantum used") rounds.push([organizationId, share]);
    }
    for (const [organizationId, share] of visited) {
      share.endGroup();
      if (share.requests.length === 0) this.#shares.delete(organizationId);
    }
    for (const request of group.requests) this.#total.subtract(request);
    return group.requests;
  }

  /**
   * Returns requests to the front of their organization's queue, in their order. None is evicted for them. The organization's turn comes
   * no earlier than without them: requests that are returned again and again delay no other organization.
   */
  putBack(requests: readonly T[]): void {
    for (const request of requests.toReversed()) {
      const { organizationId } = request;
      const share = this.#shares.get(organizationId) ?? new Share<T>();
      this.#shares.set(organizationId, share);
      share.requests.unshift(request);
      share.amount.add(request);
      this.#total.add(request);
    }
  }

  /** @returns The oldest request of each organization. */
  *oldestOfEach(): Generator<T> {
    for (const { requests: [oldest] } of this.#shares.values()) if (oldest !== undefined) yield oldest;
  }

  /** Empties the queue. @returns All queued requests. */
  clear(): T[] {
    const all = [...this.#shares.values()].flatMap(({ requests }) => requests);
    this.#shares.clear();
    for (const request of all) this.#total.subtract(request);
    return all;
  }

  /** Removes the newest request of the largest share; `preferredId` goes first among equals. */
  #removeNewest(preferredId: string): T | undefined {
    const { total } = this.#limits;
    const sizeOf = (organizationId: string) => {
      const { records = 0, bytes = 0 } = this.#shares.get(organizationId)?.amount ?? {};
      return Math.max(records / total.records, bytes / total.bytes);
    };
    let largestId = preferredId;
    for (const id of this.#shares.keys()) if (sizeOf(id) > sizeOf(largestId)) largestId = id;
    const share = this.#shares.get(largestId);
    const newest = share?.requests.pop();
    if (share === undefined || newest === undefined) return undefined;
    share.amount.subtract(newest);
    this.#total.subtract(newest);
    if (share.requests.length === 0) this.#shares.delete(largestId);
    return newest;
  }
}

/** A sum of requests. */
export class Amount implements QueueAmount {
  records = 0;
  bytes = 0;

  add({ inputs, bytes }: QueuedRequest): void {
    this.records += inputs.length;
    this.bytes += bytes;
  }

  subtract({ inputs, bytes }: QueuedRequest): void {
    this.records -= inputs.length;
    this.bytes -= bytes;
  }

  hasRoom({ inputs, bytes }: QueuedRequest, limit: QueueAmount): boolean {
    return this.records + inputs.length <= limit.records && this.bytes + bytes <= limit.bytes;
  }
}

interface Group<T extends QueuedRequest> {
  readonly requests: T[];
  readonly amount: Amount;
}

/** The queued requests of one organization. */
class Share<T extends QueuedRequest> {
  /** In order of arrival; while a group is taken, also those that it has taken. */
  requests: T[] = [];
  readonly amount = new Amount();
  /** How many of the requests the current group has considered. */
  #considered = 0;
  /** Those of them that it left here. */
  #left: T[] = [];
  /** Its idempotency keys of this organization. */
  readonly #keys = new Set<string>();
  /** The targets of its API keys. */
  readonly #targets = new Map<string, string>();

  /** Takes at least one request, if the group has room and one of them can join it. */
  takeQuantum(group: Group<T>, limits: QueueLimits): "group full" | "quantum used" | "nothing left" {
    const taken = new Amount();
    for (; this.#considered < this.requests.length; this.#considered++) {
      const request = this.requests[this.#considered] as T;
      if (this.#collides(request)) {
        this.#left.push(request);
        continue;
      }
      if (taken.records > 0 && !taken.hasRoom(request, limits.quantum)) return "quantum used";
      if (group.requests.length > 0 && !group.amount.hasRoom(request, limits.group)) return "group full";
      group.requests.push(request);
      group.amount.add(request);
      taken.add(request);
      this.amount.subtract(request);
      this.#targets.set(request.keyHash, request.target);
      for (const { idempotencyKey } of request.inputs) {
        if (idempotencyKey !== null) this.#keys.add(idempotencyKey);
      }
    }
    return "nothing left";
  }

  /** Forgets the group. The requests that it left keep their order. */
  endGroup(): void {
    this.requests = this.#left.concat(this.requests.slice(this.#considered));
    this.#left = [];
    this.#considered = 0;
    this.#keys.clear();
    this.#targets.clear();
  }

  #collides({ keyHash, target, inputs }: T): boolean {
    if ((this.#targets.get(keyHash) ?? target) !== target) return true;
    if (this.#keys.size === 0) return false;
    return inputs.some(({ idempotencyKey }) => idempotencyKey !== null && this.#keys.has(idempotencyKey));
  }
}
