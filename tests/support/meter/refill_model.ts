// Refills as a function of the clock and of changes of the time zone: nothing is written ahead, a grant appears when its turn begins.
import type { RefillPeriod } from "../../../domain/meter/usage_refill.ts";
import type { GrantModel, ModelGrant } from "./grant_model.ts";

interface ModelRefill {
  readonly quantity: bigint;
  readonly every: RefillPeriod;
  readonly rollover: number;
  readonly until: number;
  /** The first days of the turns, with their grants. */
  readonly given: { readonly day: Temporal.PlainDate; readonly grant: ModelGrant }[];
  isVoided: boolean;
}

export class RefillModel {
  readonly refills: ModelRefill[] = [];
  readonly #grants: GrantModel;
  #timezone: string;

  constructor(grants: GrantModel, timezone: string) {
    this.#grants = grants;
    this.#timezone = timezone;
  }

  add({ quantity, every, rollover, until }: Omit<ModelRefill, "given" | "isVoided">, now: number): void {
    const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(this.#timezone)
      .toPlainDate();
    const day = every === "day"
      ? today
      : every === "week"
      ? today.subtract({ days: today.dayOfWeek - 1 })
      : today.with({ day: 1 });
    const refill = { quantity, every, rollover, until, given: [], isVoided: false };
    this.refills.push(refill);
    const endsAt = this.#start(this.#later(refill, day, 1 + rollover));
    this.#grants.grant(quantity, endsAt, now);
    this.#note(refill, day);
  }

  /** Gives the grants of the turns that have begun. */
  pass(now: number): void {
    for (const refill of this.refills) {
      for (;;) {
        const next = this.#later(refill, refill.given.at(-1)?.day, 1);
        // After a change of the time zone, it is the change that begins them.
        const startsAt = Math.max(this.#start(next), this.#movedAt);
        if (startsAt > now || startsAt >= refill.until || refill.isVoided) break;
        const endsAt = Math.max(this.#start(this.#later(refill, next, 1 + refill.rollover)), this.#movedAt);
        const { quantity } = refill;
        this.#grants.grants.push({ quantity, startsAt, endsAt, used: 0n, isVoided: false });
        this.#note(refill, next);
      }
    }
  }

  #movedAt = 0;

  move(timezone: string, now: number): void {
    this.pass(now);
    this.#timezone = timezone;
    this.#movedAt = now;
    for (const refill of this.refills) {
      if (refill.isVoided) continue;
      for (const { day, grant } of refill.given) {
        if (grant.endsAt <= now) continue;
        grant.endsAt = Math.max(this.#start(this.#later(refill, day, 1 + refill.rollover)), now);
      }
    }
    this.pass(now);
  }

  void(which: number, now: number): void {
    const refill = this.refills[which];
    if (refill === undefined) return;
    refill.isVoided = true;
    for (const { grant } of refill.given) if (grant.endsAt > now) grant.isVoided = true;
  }

  #note({ given }: ModelRefill, day: Temporal.PlainDate): void {
    const grant = this.#grants.grants.at(-1);
    if (grant === undefined) throw new Error("no grant");
    given.push({ day, grant });
  }

  #later({ every }: ModelRefill, day: Temporal.PlainDate | undefined, count: number): Temporal.PlainDate {
    if (day === undefined) throw new Error("a refill without a turn");
    return day.add(
      every === "day" ? { days: count } : every === "week" ? { weeks: count } : { months: count },
    );
  }

  #start(day: Temporal.PlainDate): number {
    return day.toZonedDateTime(this.#timezone).epochMilliseconds;
  }
}
