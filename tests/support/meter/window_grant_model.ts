// What windows of a limit take from grants, as a pure function of the history. Quantities are in millionths, and windows are days.
interface ModelGrant {
  readonly quantity: bigint;
  readonly endsAt: number;
  used: bigint;
  isVoided: boolean;
}

export interface ModelRecord {
  readonly at: number;
  readonly micros: bigint;
  isVoided: boolean;
}

const least = (a: bigint, b: bigint) => a < b ? a : b;
const most = (a: bigint, b: bigint) => a > b ? a : b;
const sumOf = (amounts: readonly bigint[]) => amounts.reduce((a, b) => a + b, 0n);

export class WindowGrantModel {
  readonly grants: ModelGrant[] = [];
  readonly records: ModelRecord[] = [];
  quantity: bigint;
  /** By how much the clocks of the organization are ahead. */
  hoursAhead = 0;
  /** By day, the last taken last. */
  readonly #takes = new Map<number, { grant: ModelGrant; micros: bigint }[]>();

  constructor(quantity: bigint) {
    this.quantity = quantity;
  }

  day(at: number): number {
    return Math.floor((at + this.hoursAhead * 3_600_000) / 86_400_000);
  }

  used(day: number): bigint {
    return sumOf(
      this.records.filter(({ at, isVoided }) => !isVoided && this.day(at) === day).map(({ micros }) =>
        micros
      ),
    );
  }

  #taken(day: number): bigint {
    return sumOf((this.#takes.get(day) ?? []).map(({ micros }) => micros));
  }

  #open(now: number): ModelGrant[] {
    return this.grants.filter(({ endsAt, isVoided }) => endsAt > now && !isVoided)
      .sort((a, b) => a.endsAt - b.endsAt);
  }

  #left(now: number): bigint {
    return sumOf(this.#open(now).map(({ quantity, used }) => quantity - used));
  }

  raised(now: number): bigint {
    const day = this.day(now);
    return this.quantity + this.#taken(day) + this.#left(now);
  }

  grant(quantity: bigint, endsAt: number): void {
    this.grants.push({ quantity, endsAt, used: 0n, isVoided: false });
  }

  /** Returns what a day needs of grants that it hasn't taken. */
  #need(day: number, added: bigint): bigint {
    return most(0n, this.used(day) + added - this.quantity - this.#taken(day));
  }

  /** Records a request. Returns false if a hard limit rejects it. */
  record(
    added: readonly Omit<ModelRecord, "isVoided">[],
    { now, isHard }: { now: number; isHard: boolean },
  ): boolean {
    const days = new Map<number, bigint>();
    for (const { at, micros } of added) {
      if (micros > 0n) days.set(this.day(at), (days.get(this.day(at)) ?? 0n) + micros);
    }
    const needs = sumOf([...days].map(([day, micros]) => this.#need(day, micros)));
    if (isHard && needs > 0n && needs > this.#left(now)) return false;
    this.records.push(...added.map((record) => ({ ...record, isVoided: false })));
    for (const day of [...days.keys()].sort((a, b) => b - a)) this.#take(day, now);
    return true;
  }

  #take(day: number, now: number): void {
    const takes = this.#takes.get(day) ?? [];
    this.#takes.set(day, takes);
    let wanted = this.#need(day, 0n);
    for (const grant of this.#open(now)) {
      const micros = least(wanted, grant.quantity - grant.used);
      if (micros <= 0n) continue;
      wanted -= micros;
      grant.used += micros;
      takes.push({ grant, micros });
    }
  }

  void(record: ModelRecord): void {
    record.isVoided = true;
    const day = this.day(record.at);
    const needed = most(0n, this.used(day) - this.quantity);
    let back = least(record.micros, this.#taken(day) - needed);
    for (const take of (this.#takes.get(day) ?? []).toReversed()) {
      const micros = most(0n, least(back, take.micros));
      back -= micros;
      take.micros -= micros;
      take.grant.used -= micros;
    }
  }
}
