// The recorder's queue: every organization has a bounded queue of its own, and a group is taken from them by round robin. An
// organization that fills its queue delays only itself.
import { type AppError, unavailableError } from "../../domain/errors.ts";

export function queueFullError(): AppError {
  return unavailableError("Too many records are waiting to be written. Try again shortly.");
}

export interface QueuedRequest {
  readonly organizationId: string;
  readonly keyHash: string;
  /** See `RecordGroup`. */
  readonly target: string;
  readonly inputs: readonly { readonly idempotencyKey: string | null }[];
  /** Size of the request's body. */
  readonly bytes: number;
}

interface QueueAmount {
  readonly records: number;
  readonly bytes: number;
}

export interface QueueLimits {
  /** Maximum for the requests of all organizations together. */
  readonly total: QueueAmount;
  /** Maximum for the requests of one organization. */
  readonly organization: QueueAmount;
  /** Taken from one organization before the next one is served. */
  readonly quantum: QueueAmount;
  /** Taken as one group. A larger request is taken alone. */
  readonly group: QueueAmount;
}

export class FairQueue<T extends QueuedRequest> {
  readonly #limits: QueueLimits;
  /** Only organizations with queued requests; the first is served next. */
  readonly #organizations = new Map<string, OrganizationQueue<T>>();
  readonly #held = new Set<string>();
  readonly #total = new Amount();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get records(): number {
    return this.#total.records;
  }

  get isEmpty(): boolean {
    return this.#organizations.size === 0;
  }

  /** True if {@linkcode take} would return requests. */
  get canTake(): boolean {
    if (this.#held.size === 0) return !this.isEmpty;
    return this.#organizations.keys().some((organizationId) => !this.#held.has(organizationId));
  }

  /** Takes no requests of an organization until it is released. */
  hold(organizationId: string): void {
    this.#held.add(organizationId);
  }

  release(organizationId: string): void {
    this.#held.delete(organizationId);
  }

  /**
   * Adds a request. When the whole queue is full, the newest requests of the organization with the longest queue are evicted:
   * an organization with less than an equal part of the queue never loses a request.
   *
   * @returns The requests to reject, which are not in the queue: none, the request itself, or those evicted for it.
   */
  add(request: T): readonly T[] {
    const { organizationId } = request;
    const own = this.#organizations.get(organizationId) ?? new OrganizationQueue<T>();
    if (!own.amount.hasRoom(request, this.#limits.organization)) return [request];
    this.#organizations.set(organizationId, own);
    own.requests.push(request);
    own.amount.add(request);
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
    const visited = new Map<string, OrganizationQueue<T>>();
    const rounds = [...this.#organizations].filter(([organizationId]) => !this.#held.has(organizationId));
    // Grows while it is iterated: an organization with more requests is served again after all others.
    for (const [organizationId, own] of rounds) {
      visited.set(organizationId, own);
      const reason = own.takeQuantum(group, this.#limits);
      if (reason === "group full") break;
      this.#organizations.delete(organizationId);
      this.#organizations.set(organizationId, own);
      if (reason === "quantum used") rounds.push([organizationId, own]);
    }
    for (const [organizationId, own] of visited) {
      own.endGroup();
      if (own.requests.length === 0) this.#organizations.delete(organizationId);
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
      const own = this.#organizations.get(organizationId) ?? new OrganizationQueue<T>();
      this.#organizations.set(organizationId, own);
      own.requests.unshift(request);
      own.amount.add(request);
      this.#total.add(request);
    }
  }

  *oldestOfEach(): Generator<T> {
    for (const { requests: [oldest] } of this.#organizations.values()) if (oldest !== undefined) yield oldest;
  }

  clear(): T[] {
    const all = [...this.#organizations.values()].flatMap(({ requests }) => requests);
    this.#organizations.clear();
    for (const request of all) this.#total.subtract(request);
    return all;
  }

  /** Removes the newest request of the longest queue; `preferredId` goes first among equals. */
  #removeNewest(preferredId: string): T | undefined {
    const { total } = this.#limits;
    const sizeOf = (organizationId: string) => {
      const { records = 0, bytes = 0 } = this.#organizations.get(organizationId)?.amount ?? {};
      return Math.max(records / total.records, bytes / total.bytes);
    };
    let largestId = preferredId;
    for (const id of this.#organizations.keys()) if (sizeOf(id) > sizeOf(largestId)) largestId = id;
    const own = this.#organizations.get(largestId);
    const newest = own?.requests.pop();
    if (own === undefined || newest === undefined) return undefined;
    own.amount.subtract(newest);
    this.#total.subtract(newest);
    if (own.requests.length === 0) this.#organizations.delete(largestId);
    return newest;
  }
}

/** Adds up the records and bytes of requests. */
class Amount implements QueueAmount {
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

class OrganizationQueue<T extends QueuedRequest> {
  /** In order of arrival; while a group is taken, also those that it has taken. */
  requests: T[] = [];
  readonly amount = new Amount();
  /** The number of requests that the current group has considered. */
  #considered = 0;
  /** Considered requests that stay in the queue. */
  #left: T[] = [];
  /** Idempotency keys of the current group. */
  readonly #idempotencyKeys = new Set<string>();
  /** Targets of the current group by API key. */
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
        if (idempotencyKey !== null) this.#idempotencyKeys.add(idempotencyKey);
      }
    }
    return "nothing left";
  }

  /** Forgets the group. The requests that it left keep their order. */
  endGroup(): void {
    this.requests = this.#left.concat(this.requests.slice(this.#considered));
    this.#left = [];
    this.#considered = 0;
    this.#idempotencyKeys.clear();
    this.#targets.clear();
  }

  #collides({ keyHash, target, inputs }: T): boolean {
    if ((this.#targets.get(keyHash) ?? target) !== target) return true;
    if (this.#idempotencyKeys.size === 0) return false;
    return inputs.some(({ idempotencyKey }) =>
      idempotencyKey !== null && this.#idempotencyKeys.has(idempotencyKey)
    );
  }
}
