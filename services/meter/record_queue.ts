// The queue of requests to record, shared fairly: every organization has a bounded share, and a group is taken from
// the shares in turn. One organization can fill its own share and delay itself; it cannot keep another one out.

/** What the queue needs to know of a request. */
export interface QueuedRequest {
  readonly organizationId: string;
  readonly inputs: readonly { readonly idempotencyKey: string | null }[];
  /** Size of the request's body. */
  readonly bytes: number;
}

/** An amount of waiting requests, by both of its measures. */
export interface QueueAmount {
  readonly records: number;
  readonly bytes: number;
}

/** How much may wait, and how much is taken. */
export interface QueueBounds {
  /** Of all organizations. */
  readonly total: QueueAmount;
  /** Of one organization. */
  readonly share: QueueAmount;
  /** What a group takes from one organization before the next one has its turn. */
  readonly turn: QueueAmount;
  /** Of one group. A request that is larger than this is taken alone. */
  readonly group: QueueAmount;
}

/** Requests that wait, by organization. */
export class RecordQueue<T extends QueuedRequest> {
  readonly #bounds: QueueBounds;
  /** Only organizations with something waiting. The first has the next turn. */
  readonly #shares = new Map<string, Share<T>>();
  #records = 0;
  #bytes = 0;

  /** @param bounds See {@linkcode QueueBounds}. */
  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** Records that wait. */
  get records(): number {
    return this.#records;
  }

  /** Whether no request waits. */
  get isEmpty(): boolean {
    return this.#shares.size === 0;
  }

  /**
   * Adds a request. When the whole queue is full, the newest requests of the organization with the largest share make
   * room: an organization that has less than an equal part of the queue waiting is never turned away.
   *
   * @returns The requests to turn away, which are no longer in the queue: none, the request itself, or those that made
   *   room for it.
   */
  add(request: T): readonly T[] {
    const { total, share: bound } = this.#bounds;
    const { organizationId } = request;
    const share = this.#shares.get(organizationId) ?? new Share<T>();
    if (share.records + request.inputs.length > bound.records || share.bytes + request.bytes > bound.bytes) {
      return [request];
    }
    this.#shares.set(organizationId, share);
    share.add(request);
    this.#count(request, 1);
    const turnedAway: T[] = [];
    while (this.#records > total.records || this.#bytes > total.bytes) {
      const newest = this.#removeNewest(organizationId);
      if (newest === undefined) break;
      turnedAway.push(newest);
    }
    return turnedAway;
  }

  /**
   * Takes the requests of one group, organization by organization in turn, each organization's in order of arrival. A
   * request with an idempotency key that the group already has from the same organization stays for a later group.
   */
  take(): T[] {
    const group = new Group<T>(this.#bounds);
    const visited = new Map<string, Share<T>>();
    const turns = [...this.#shares];
    // Grows at its end: an organization that has more waiting gets another turn after all others.
    for (const turn of turns) {
      const [organizationId, share] = turn;
      visited.set(organizationId, share);
      const end = share.takeTurn(group);
      if (end === "group full") break;
      this.#shares.delete(organizationId);
      this.#shares.set(organizationId, share);
      if (end === "turn over") turns.push(turn);
    }
    for (const [organizationId, share] of visited) {
      share.endGroup();
      if (share.isEmpty) this.#shares.delete(organizationId);
    }
    for (const request of group.requests) this.#count(request, -1);
    return group.requests;
  }

  /** Puts requests of a group back, in their order and before all that wait. None is turned away for them. */
  putBack(requests: readonly T[]): void {
    for (const request of requests.toReversed()) {
      const { organizationId } = request;
      const share = this.#shares.get(organizationId) ?? new Share<T>();
      this.#shares.set(organizationId, share);
      share.putBack(request);
      this.#count(request, 1);
    }
  }

  /** @returns The request of each organization that has waited longest. */
  *oldestOfEach(): Generator<T> {
    for (const { waiting: [oldest] } of this.#shares.values()) if (oldest !== undefined) yield oldest;
  }

  /** Empties the queue. @returns All that waited. */
  clear(): T[] {
    const requests = [...this.#shares.values()].flatMap((share) => share.waiting);
    this.#shares.clear();
    this.#records = 0;
    this.#bytes = 0;
    return requests;
  }

  #count({ inputs, bytes }: T, sign: 1 | -1): void {
    this.#records += sign * inputs.length;
    this.#bytes += sign * bytes;
  }

  /** Removes the newest request of the largest share, of `preferredId` when no other is larger. */
  #removeNewest(preferredId: string): T | undefined {
    const { total } = this.#bounds;
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

/** The requests of a group, and how much they are. */
class Group<T extends QueuedRequest> {
  readonly requests: T[] = [];
  readonly turn: QueueAmount;
  readonly #bound: QueueAmount;
  #records = 0;
  #bytes = 0;

  constructor(bounds: QueueBounds) {
    this.turn = bounds.turn;
    this.#bound = bounds.group;
  }

  /** @returns False when there is no room for the request. */
  add(request: T): boolean {
    const records = this.#records + request.inputs.length;
    const bytes = this.#bytes + request.bytes;
    if (this.requests.length > 0 && (records > this.#bound.records || bytes > this.#bound.bytes)) {
      return false;
    }
    this.requests.push(request);
    this.#records = records;
    this.#bytes = bytes;
    return true;
  }
}

/** What waits of one organization. */
class Share<T extends QueuedRequest> {
  records = 0;
  bytes = 0;
  /** In order of arrival. */
  #waiting: T[] = [];
  /** How many of those waiting the group that is being taken has seen. */
  #seen = 0;
  /** Those of them that it left here. */
  #left: T[] = [];
  /** Idempotency keys that it has of this organization. */
  readonly #keys = new Set<string>();

  get waiting(): readonly T[] {
    return this.#waiting;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(request: T): void {
    this.#waiting.push(request);
    this.records += request.inputs.length;
    this.bytes += request.bytes;
  }

  putBack(request: T): void {
    this.#waiting.unshift(request);
    this.records += request.inputs.length;
    this.bytes += request.bytes;
  }

  removeNewest(): T | undefined {
    const newest = this.#waiting.pop();
    this.records -= newest?.inputs.length ?? 0;
    this.bytes -= newest?.bytes ?? 0;
    return newest;
  }

  /** Takes at least one request, if there is room in the group and one that it can have. */
  takeTurn(group: Group<T>): "group full" | "turn over" | "nothing left" {
    let records = 0;
    let bytes = 0;
    for (; this.#seen < this.#waiting.length; this.#seen++) {
      const request = this.#waiting[this.#seen] as T;
      if (this.#collides(request)) {
        this.#left.push(request);
        continue;
      }
      records += request.inputs.length;
      bytes += request.bytes;
      const isOver = records > group.turn.records || bytes > group.turn.bytes;
      if (isOver && records > request.inputs.length) return "turn over";
      if (!group.add(request)) return "group full";
      this.records -= request.inputs.length;
      this.bytes -= request.bytes;
      for (const { idempotencyKey } of request.inputs) {
        if (idempotencyKey !== null) this.#keys.add(idempotencyKey);
      }
    }
    return "nothing left";
  }

  /** Forgets the group. What it left waits in the same order as before. */
  endGroup(): void {
    this.#waiting = this.#left.concat(this.#waiting.slice(this.#seen));
    this.#left = [];
    this.#seen = 0;
    this.#keys.clear();
  }

  #collides({ inputs }: T): boolean {
    if (this.#keys.size === 0) return false;
    return inputs.some(({ idempotencyKey }) => idempotencyKey !== null && this.#keys.has(idempotencyKey));
  }
}
