// What is used of grants, as a pure function of the history of one limit in total. Quantities are in millionths.
export interface ModelGrant {
  readonly quantity: bigint;
  endsAt: number;
  /** Of a refill; others start when they are given. */
  readonly startsAt?: number;
  used: bigint;
  isVoided: boolean;
}

const least = (...amounts: bigint[]) => amounts.reduce((a, b) => a < b ? a : b);
const most = (...amounts: bigint[]) => amounts.reduce((a, b) => a > b ? a : b);

export class GrantModel {
  readonly grants: ModelGrant[] = [];
  quantity: bigint;
  used = 0n;

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
    this.grants.push({ quantity, endsAt, used: 0n, isVoided: false });
    this.#take(0n, now);
  }

  /** Records a group. Returns false if a hard limit rejects it. */
  record(records: readonly bigint[], { now, isHard }: { now: number; isHard: boolean }): boolean {
    const sum = records.reduce((a, b) => a + b, 0n);
    if (isHard && sum > 0n && this.used + sum > this.raised(now)) {
      // Grants cover what was recorded before the limit was lowered, with the next group.
      this.#take(0n, now);
      return false;
    }
    this.used += sum;
    this.#take(sum, now);
    return true;
  }

  #take(added: bigint, now: number): void {
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
    }
  }

  /** Gives back in the reverse order of use. */
  void(micros: bigint): void {
    this.used -= micros;
    const usedOf = (grants: readonly ModelGrant[]) => grants.reduce((sum, { used }) => sum + used, 0n);
    const isLasting = ({ endsAt, isVoided }: ModelGrant) => endsAt === Infinity && !isVoided;
    const lasting = this.grants.filter(isLasting);
    const expiring = this.grants.filter((grant) => !isLasting(grant))
      .sort((a, b) =>
        Number(b.isVoided) - Number(a.isVoided) || (a.endsAt < b.endsAt ? -1 : a.endsAt > b.endsAt ? 1 : 0)
      );
    const needed = most(0n, this.used - usedOf(expiring) - this.quantity);
    giveBack(lasting, least(micros, most(0n, usedOf(lasting) - needed)));
    giveBack(expiring, this.#taken - this.used);
  }
}

/** Gives back to grants, the last first. */
function giveBack(grants: readonly ModelGrant[], wanted: bigint): void {
  for (const grant of grants.toReversed()) {
    const back = least(most(0n, wanted), grant.used);
    grant.used -= back;
    wanted -= back;
  }
}
