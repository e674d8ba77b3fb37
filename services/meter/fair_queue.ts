// The recorder's queue, shared by round robin: every organization has a bounded share, and a group is taken from the shares
// one after the other. An organization that fills its share delays only itself.

/** What the queue needs to know of a request. */
export interface QueuedRequest {
  readonly organizationId: string;
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
  #records = 0;
  #bytes = 0;

  /** @param limits See {@linkcode QueueLimits}. */
  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** The number of queued records. */
  get records(): number {
    return this.#records;
  }

  /** Whether no request is queued. */
  get isEmpty(): boolean {
    return this.#shares.size === 0;
  }

  /**
   * Adds a request. When the whole queue is full, the newest requests of the organization with the largest share are evicted:
   * an organization with less than an equal part of the queue never loses a request.
   *
   * @returns The requests to reject, which are not in the queue: none, the request itself, or those evicted for it.
   */
  add(request: T): readonly T[] {
    const { total, share: limit } = this.#limits;
    const { organizationId } = request;
    const share = this.#shares.get(organizationId) ?? new Share<T>();
    if (share.records + request.inputs.length > limit.records || share.bytes + request.bytes > limit.bytes) {
      return [request];
    }
    this.#shares.set(organizationId, share);
    share.add(request);
    this.#count(request, 1);
    const evicted: T[] = [];
    while (this.#records > total.records || this.#bytes > total.bytes) {
      const newest = this.#removeNewest(organizationId);
      if (newest === undefined) break;
      evicted.push(newest);
    }
    return evicted;
  }

  /**
   * Takes the requests of one group from the organizations by round robin, in order of arrival within each of them. A request
   * that shares an idempotency key with another of its organization in the group is left for a later group.
   */
  take(): T[] {
    const group = new Group<T>(this.#limits);
    const visited = new Map<string, Share<T>>();
    const rounds = [...this.#shares];
    // Grows while it is iterated: an organization with more requests is served again after all others.
    for (const [organizationId, share] of rounds) {
      visited.set(organizationId, share);
      const reason = share.takeQuantum(group);
      if (reason === "group full") break;
      this.#shares.delete(organizationId);
      this.#shares.set(organizationId, share);
      if (reason === "quantum used") rounds.push([organizationId, share]);
    }
    for (const [organizationId, share] of visited) {
      share.endGroup();
      if (share.isEmpty) this.#shares.delete(organizationId);
    }
    for (const request of group.requests) this.#count(request, -1);
    return group.requests;
  }

  /** Puts requests of a group back, in their order and before all others. None is evicted for them. */
  putBack(requests: readonly T[]): void {
    for (const request of requests.toReversed()) {
      const { organizationId } = request;
      const share = this.#shares.get(organizationId) ?? new Share<T>();
      this.#shares.set(organizationId, share);
      share.putBack(request);
      this.#count(request, 1);
    }
  }

  /** @returns The oldest request of each organization. */
  *oldestOfEach(): Generator<T> {
    for (const { requests: [oldest] } of this.#shares.values()) if (oldest !== undefined) yield oldest;
  }

  /** Empties the queue. @returns All queued requests. */
  clear(): T[] {
    const requests = [...this.#shares.values()].flatMap((share) => share.requests);
    this.#shares.clear();
    this.#records = 0;
    this.#bytes = 0;
    return requests;
  }

  #count({ inputs, bytes }: T, sign: 1 | -1): void {
    this.#records += sign * inputs.length;
    this.#bytes += sign * bytes;
  }

  /** Removes the newest request of the largest share; `preferredId` goes first among equals. */
  #removeNewest(preferredId: string): T | undefined {
    const { total } = this.#limits;
    const size = (share: Share<T> | undefined) =>
      share === undefined ? 0 : Math.max(share.records / total.records, share.bytes / total.bytes);
    let largestId = preferredId;
    let largest = size(this.#shares.get(preferredId));
    for (const [organizationId, share] of this.#shares) {
      if (size(share) <= largest) continue;
      largest = size(share);
      largestId = organizationId;
    }
    const share = this.#shares.get(largestId);
    const newest = share?.removeNewest();
    if (newest === undefined) return undefined;
    this.#count(newest, -1);
    if (share?.isEmpty === true) this.#shares.delete(largestId);
    return newest;
  }
}

/** The requests of a group. */
class Group<T extends QueuedRequest> {
  readonly requests: T[] = [];
  readonly quantum: QueueAmount;
  readonly #limit: QueueAmount;
  #records = 0;
  #bytes = 0;

  constructor(limits: QueueLimits) {
    this.quantum = limits.quantum;
    this.#limit = limits.group;
  }

  /** @returns False when there is no room for the request. */
  add(request: T): boolean {
    const records = this.#records + request.inputs.length;
    const bytes = this.#bytes + request.bytes;
    if (this.requests.length > 0 && (records > this.#limit.records || bytes > this.#limit.bytes)) {
      return false;
    }
    this.requests.push(request);
    this.#records = records;
    this.#bytes = bytes;
    return true;
  }
}

/** The queued requests of one organization. */
class Share<T extends QueuedRequest> {
  records = 0;
  bytes = 0;
  /** In order of arrival. */
  #requests: T[] = [];
  /** How many of the requests the current group has considered. */
  #considered = 0;
  /** Those of them that it left here. */
  #left: T[] = [];
  /** Its idempotency keys of this organization. */
  readonly #keys = new Set<string>();

  get requests(): readonly T[] {
    return this.#requests;
  }

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  add(request: T): void {
    this.#requests.push(request);
    this.records += request.inputs.length;
    this.bytes += request.bytes;
  }

  putBack(request: T): void {
    this.#requests.unshift(request);
    this.records += request.inputs.length;
    this.bytes += request.bytes;
  }

  removeNewest(): T | undefined {
    const newest = this.#requests.pop();
    this.records -= newest?.inputs.length ?? 0;
    this.bytes -= newest?.bytes ?? 0;
    return newest;
  }

  /** Takes at least one request, if the group has room and one of them can join it. */
  takeQuantum(group: Group<T>): "group full" | "quantum used" | "nothing left" {
    let records = 0;
    let bytes = 0;
    for (; this.#considered < this.#requests.length; this.#considered++) {
      const request = this.#requests[this.#considered] as T;
      if (this.#collides(request)) {
        this.#left.push(request);
        continue;
      }
      records += request.inputs.length;
      bytes += request.bytes;
      const isOver = records > group.quantum.records || bytes > group.quantum.bytes;
      if (isOver && records > request.inputs.length) return "quantum used";
      if (!group.add(request)) return "group full";
      this.records -= request.inputs.length;
      this.bytes -= request.bytes;
      for (const { idempotencyKey } of request.inputs) {
        if (idempotencyKey !== null) this.#keys.add(idempotencyKey);
      }
    }
    return "nothing left";
  }

  /** Forgets the group. The requests that it left keep their order. */
  endGroup(): void {
    this.#requests = this.#left.concat(this.#requests.slice(this.#considered));
    this.#left = [];
    this.#considered = 0;
    this.#keys.clear();
  }

  #collides({ inputs }: T): boolean {
    if (this.#keys.size === 0) return false;
    return inputs.some(({ idempotencyKey }) => idempotencyKey !== null && this.#keys.has(idempotencyKey));
  }
}
