// What is used of grants, as a pure function of the history of one limit in total. Quantities are in millionths.
export interface ModelGrant {
  readonly quantity: bigint;
  endsAt: number;
  /** Of a refill; others start when they are given. */
  readonly startsAt?: number;
  used: bigint;
  isVoided: boolean;
  /** The first and the last group of records that used it, and how much of each is taken from it. */
  first: Share | null;
  last: Share | null;
}

interface Share {
  readonly from: number;
  readonly to: number;
  micros: bigint;
}

const least = (...amounts: bigint[]) => amounts.reduce((a, b) => a < b ? a : b);
const most = (...amounts: bigint[]) => amounts.reduce((a, b) => a > b ? a : b);

export class GrantModel {
  readonly grants: ModelGrant[] = [];
  quantity: bigint;
  used = 0n;
  /** The number of records so far: the position of the last one. */
  count = 0;

  constructor(quantity: bigint) {
    this.quantity = quantity;
  }

  get #taken(): bigint {
    return this.grants.reduce((sum, { used }) => sum + used, 0n);
  }

  /** Those that can be used, in the order in which they are. */
  #open(now: number): ModelGrant[] {
    return this.grants.filter(({ startsAt = 0, endsAt, isVoided, used, quantity }) =>
      startsAt <= now && endsAt > now && !isVoided && used < quantity
    )
      .sort((a, b) => a.endsAt - b.endsAt);
  }

  raised(now: number): bigint {
    return this.#open(now).reduce(
      (sum, { quantity, used }) => sum + quantity - used,
      this.quantity + this.#taken,
    );
  }

  grant(quantity: bigint, endsAt: number, now: number): void {
    this.grants.push({ quantity, endsAt, used: 0n, isVoided: false, first: null, last: null });
    this.#take(0n, now, null);
  }

  /** Records a group. Returns false if a hard limit rejects it. */
  record(records: readonly bigint[], { now, isHard }: { now: number; isHard: boolean }): boolean {
    const sum = records.reduce((a, b) => a + b, 0n);
    if (isHard && sum > 0n && this.used + sum > this.raised(now)) {
      // Grants cover what was recorded before the limit was lowered, with the next group.
      this.#take(0n, now, null);
      return false;
    }
    const group = { from: this.count + 1, to: this.count + records.length };
    this.count = group.to;
    this.used += sum;
    this.#take(sum, now, sum > 0n ? group : null);
    return true;
  }

  #take(added: bigint, now: number, group: Omit<Share, "micros"> | null): void {
    const open = this.#open(now);
    const rest = (grants: readonly ModelGrant[]) =>
      grants.reduce((sum, { quantity, used }) => sum + quantity - used, 0n);
    const expiring = rest(open.filter(({ endsAt }) => endsAt < Infinity));
    const over = this.used - this.#taken - this.quantity;
    let wanted = least(rest(open), most(least(added, expiring), over));
    for (const grant of open) {
      const micros = least(wanted, grant.quantity - grant.used);
      if (micros <= 0n) continue;
      wanted -= micros;
      grant.used += micros;
      if (group === null) continue;
      grant.first ??= { ...group, micros };
      grant.last = { ...group, micros };
    }
  }

  void({ position, micros }: { readonly position: number; readonly micros: bigint }): void {
    this.used -= micros;
    const isIn = (share: Share | null) => share !== null && share.from <= position && position <= share.to;
    const users = this.grants.filter(({ first, last }) =>
      first !== null && last !== null && first.from <= position && position <= last.to
    ).reverse();
    const isNoted = ({ first, last }: ModelGrant) => isIn(first) || isIn(last);
    const own = [
      ...users.filter(isNoted).sort((a, b) => b.endsAt - a.endsAt),
      ...users.filter((grant) => !isNoted(grant))
        .sort((a, b) => (b.first?.from ?? 0) - (a.first?.from ?? 0)),
    ];
    const caps = new Map(own.map((grant) => [
      grant,
      least(
        grant.used,
        isIn(grant.first) ? grant.first?.micros ?? 0n : grant.used,
        isIn(grant.last) ? grant.last?.micros ?? 0n : grant.used,
      ),
    ]));
    const short = most(0n, this.#taken - this.used);
    const all = [...caps.values()].reduce((a, b) => a + b, 0n);
    let back = most(least(micros, all), short);
    const give = (grant: ModelGrant, most: bigint) => {
      const given = least(back, most);
      back -= given;
      grant.used -= given;
      return given;
    };
    const given = new Map(own.map((grant) => [grant, give(grant, caps.get(grant) ?? 0n)]));
    for (const grant of this.grants.toReversed()) {
      given.set(grant, (given.get(grant) ?? 0n) + give(grant, grant.used));
    }
    for (const [{ first, last }, amount] of given) {
      if (first !== null && isIn(first)) first.micros = most(0n, first.micros - amount);
      if (last !== null && isIn(last)) last.micros = most(0n, last.micros - amount);
    }
  }
}
