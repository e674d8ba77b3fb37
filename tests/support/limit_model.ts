// A model of an organization with limits, that records one request after the other.
import { hashApiKey } from "../../domain/api_key.ts";
import { limitWindow } from "../../domain/meter/limit_window.ts";
import { quantityMicros, splitQuantity } from "../../domain/meter/quantity.ts";
import { limitModes, limitPeriods } from "../../domain/meter/usage_limit.ts";
import type { TestApp } from "./app.ts";
import fc from "./fast_check.ts";

export const hourMs = 3_600_000;
const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"] as const;

const owners = ["plan", "organization", "first", "second"] as const;
const names = ["", "a", "b"] as const;

const inputArbitrary = fc.record({
  productSlug: fc.constantFrom("a", "b"),
  metric: fc.constantFrom("a", "b"),
  quantity: fc.constantFrom(0, 0.25, 1, 2.5, 3, 2 ** 40),
  // Hours from now; null for now.
  hours: fc.option(fc.double({ min: -50, max: 0.06, noNaN: true }), { freq: 2 }),
});
const requestArbitrary = fc.record({
  key: fc.constantFrom(0, 1),
  inputs: fc.array(inputArbitrary, { minLength: 1, maxLength: 3 }),
});
const stepArbitrary = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant("record"), request: requestArbitrary }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("together"),
      requests: fc.array(requestArbitrary, { minLength: 2, maxLength: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("repeat"), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("void"), which: fc.nat() }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("advance"), hours: fc.constantFrom(0.01, 0.25, 0.5, 1, 7, 24) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("limit"),
      owner: fc.constantFrom(...owners),
      productSlug: fc.constantFrom(...names),
      metric: fc.constantFrom(...names),
      per: fc.constantFrom(...limitPeriods),
      quantity: fc.option(fc.constantFrom(0, 1, 4, 7.75, 12)),
      mode: fc.constantFrom(...limitModes),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("unlimit"), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("zone"), timezone: fc.constantFrom(...zones) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("plan") }) },
);
/** A time zone, a moment and steps. */
export const runArbitrary = fc.record({
  timezone: fc.constantFrom(...zones),
  /** How long before the next change of clocks the run begins. */
  hoursBefore: fc.integer({ min: 0, max: 30 }),
  steps: fc.array(stepArbitrary as fc.Arbitrary<Step>, { minLength: 10, maxLength: 40 }),
});

/** A request of one of the two keys. */
export interface Request {
  readonly key: 0 | 1;
  readonly inputs: readonly {
    readonly productSlug: string;
    readonly metric: string;
    readonly quantity: number;
    readonly hours: number | null;
  }[];
}
/** A limit of the model. */
export interface ModelLimit {
  readonly id: string;
  readonly owner: typeof owners[number];
  /** Of the two plans, if a plan owns it. */
  readonly plan: number;
  readonly productSlug: string;
  readonly metric: string;
  readonly per: typeof limitPeriods[number];
  quantity: number | null;
  mode: typeof limitModes[number];
}
/** What can happen to an organization. */
export type Step =
  | { readonly type: "record"; readonly request: Request }
  | { readonly type: "together"; readonly requests: readonly Request[] }
  | { readonly type: "repeat" | "void" | "unlimit"; readonly which: number }
  | { readonly type: "advance"; readonly hours: number }
  | { readonly type: "zone"; readonly timezone: string }
  | { readonly type: "plan" }
  | { readonly type: "limit" } & Omit<ModelLimit, "id" | "plan">;

/** A record of the model. */
interface ModelRecord {
  readonly id: string;
  readonly request: Request;
  readonly productSlug: string;
  readonly metric: string;
  readonly micros: bigint;
  readonly timestamp: number;
  readonly sent: Sent;
  isVoided: boolean;
}
/** What the recorder gets. */
type Sent = Parameters<TestApp["services"]["recorder"]["record"]>[0];

/** One organization with two keys and two plans, and what the model says of it. */
export class Scene {
  readonly records: ModelRecord[] = [];
  limits: ModelLimit[] = [];
  plan = 0;
  timezone = "UTC";
  #sent = 0;

  constructor(
    readonly test: TestApp,
    readonly organizationId: string,
    readonly keys: readonly { readonly id: string; readonly fullKey: string }[],
    readonly plans: readonly number[],
  ) {}

  #demands(request: Request) {
    const now = this.test.now();
    return request.inputs.flatMap((input) =>
      this.#limitsOf(request, input).map((limit) => ({
        limit,
        time: input.hours === null ? now : now + Math.round(input.hours * hourMs),
        micros: microsOf(input.quantity),
      }))
    );
  }

  /** @returns The hard limits that a request doesn't fit into, with what is used. */
  exceeded(request: Request): string[] {
    // A request can have records in several windows of a limit.
    const found = new Map<string, string>();
    const demands = this.#demands(request);
    for (const { limit, time } of demands) {
      const own = demands.filter((other) =>
        other.limit === limit && this.#isSameWindow(limit, other.time, time)
      );
      const sum = own.reduce((total, { micros }) => total + micros, 0n);
      const used = this.#used(limit, time);
      if (limit.mode === "hard" && sum > 0n && used + sum > microsOf(limit.quantity ?? 0)) {
        const start = limitWindow(limit.per, this.timezone, time)?.start;
        found.set(`${limit.id} ${start}`, `${limit.id} ${used}`);
      }
    }
    return [...found.values()].sort();
  }

  /** @returns Every limit of a request, with what is used now. */
  standings(request: Request): string[] {
    const limits = new Set(request.inputs.flatMap((input) => this.#limitsOf(request, input)));
    return [...limits].map((limit) => `${limit.id} ${this.#used(limit, this.test.now())}`).sort();
  }

  #used(limit: ModelLimit, time: number): bigint {
    return this.records.filter((record) =>
      !record.isVoided && this.#counts(limit, record.request, record) &&
      this.#isSameWindow(limit, record.timestamp, time)
    ).reduce((total, { micros }) => total + micros, 0n);
  }

  /** @returns What the recorder gets. */
  sent({ key, inputs }: Request): Sent {
    return {
      keyHash: hashApiKey(this.keys[key]?.fullKey ?? ""),
      bytes: 1,
      inputs: inputs.map(({ hours, quantity, ...input }) => ({
        ...input,
        quantity: splitQuantity(quantity) ?? { whole: 0, micro: 0 },
        timestamp: hours === null ? null : this.test.now() + Math.round(hours * hourMs),
        idempotencyKey: `k${this.#sent++}`,
        properties: null,
      })),
    };
  }

  #limitsOf(request: Request, input: { productSlug: string; metric: string }): ModelLimit[] {
    const scope = ({ productSlug, metric, per }: ModelLimit) => `${productSlug} ${metric} ${per}`;
    const own = new Set(this.limits.filter(({ owner }) => owner === "organization").map(scope));
    return this.limits.filter((limit) =>
      limit.quantity !== null && this.#counts(limit, request, input) &&
      (limit.owner !== "plan" || (limit.plan === this.plan && !own.has(scope(limit))))
    );
  }

  #counts(limit: ModelLimit, request: Request, input: { productSlug: string; metric: string }): boolean {
    return (limit.productSlug === "" || limit.productSlug === input.productSlug) &&
      (limit.metric === "" || limit.metric === input.metric) &&
      (limit.owner === "plan" || limit.owner === "organization" ||
        limit.owner === (request.key === 0 ? "first" : "second"));
  }

  #isSameWindow({ per }: ModelLimit, time: number, other: number): boolean {
    const window = limitWindow(per, this.timezone, time);
    return window === null || (window.start <= other && other < window.end);
  }
}

/** @returns A quantity in millionths. */
export const microsOf = (quantity: number): bigint =>
  quantityMicros(splitQuantity(quantity) ?? { whole: 0, micro: 0 });
