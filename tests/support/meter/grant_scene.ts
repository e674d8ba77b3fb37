// What random histories of grants have in common: an organization with a limit, its grants, records and voids.
import { AppError } from "../../../domain/errors.ts";
import { hashApiKey } from "../../../domain/keys/api_key.ts";
import { splitQuantity } from "../../../domain/meter/quantity.ts";
import { operatorAccess } from "../../../services/access/access.ts";
import { readLimits } from "../../../services/meter/limits.ts";
import { keyAccess } from "../../../services/meter/usage_access.ts";
import { createGrant, listGrants, voidGrant } from "../../../services/meter/usage_grants.ts";
import { voidUsageRecord } from "../../../services/meter/usage_voids.ts";
import type { TestApp } from "../app/app.ts";
import { commandLineActor } from "../operators/operators.ts";
import { newKeys, newOrganization, run } from "../people/scene.ts";
import fc from "../runner/fast_check.ts";
import { doWork } from "./background_work.ts";
import { type AddedLimit, addLimit } from "./limits.ts";

export const hourMs = 3_600_000;

/** @returns A number in millionths. */
export const micros = (value: number): bigint => BigInt(Math.round(value * 1e6));

const split = (value: number) => splitQuantity(value) ?? { whole: 0, micro: 0 };

/** Quantities of records, some of them 0. */
export const quantities = fc.oneof(
  fc.integer({ min: 0, max: 12 }),
  fc.integer({ min: 0, max: 9_000_000 }).map((n) => n / 1e6),
);

/** Steps of all histories, with the longest time of grants and between steps. */
export const grantSteps = ({ grantHours, pauseHours }: { grantHours: number; pauseHours: number }) =>
  [
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant("grant" as const),
        quantity: quantities,
        hours: fc.option(fc.nat(grantHours)),
      }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("void" as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("voidGrant" as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("advance" as const), hours: fc.nat(pauseHours) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("limit" as const), quantity: fc.nat(20) }) },
  ] as const;
export type GrantStep = (ReturnType<typeof grantSteps>)[number]["arbitrary"] extends fc.Arbitrary<infer T> ? T
  : never;

/** Builds histories of a limit from their steps. */
export const historyOf = <T>(step: fc.Arbitrary<T>) =>
  fc.record({
    first: fc.nat(10),
    mode: fc.constantFrom("hard" as const, "hard" as const, "soft" as const),
    steps: fc.array(step, { minLength: 5, maxLength: 30 }),
  });

/** A model of grants, which follows each step of a history. */
interface Model<Record> {
  quantity: bigint;
  readonly grants: readonly { used: bigint; isVoided: boolean }[];
  grant(quantity: bigint, endsAt: number, now: number): void;
  raised(now: number): bigint;
  void(record: Record): void;
}

type RecordOf<M> = M extends Model<infer Record> ? Record : never;

interface SentInput {
  readonly quantity: number;
  readonly productSlug?: string;
  readonly timestamp?: number | null;
}

export class GrantScene<M extends Model<never>> {
  /** Records of the limit that can be voided, with those of the model. */
  readonly records: { readonly id: string; readonly record: RecordOf<M> }[] = [];
  readonly #voided = new Set<string>();
  readonly grantIds: string[] = [];
  #names = 0;

  private constructor(
    readonly test: TestApp,
    readonly organizationId: string,
    readonly key: { readonly id: string; readonly fullKey: string },
    readonly limit: { readonly id: string },
    readonly model: M,
  ) {}

  /** Creates an organization with a limit of its tiles. `timezone`: by default UTC. */
  static async create<M extends Model<never>>(
    test: TestApp,
    model: M,
    { timezone = "UTC", ...limit }: AddedLimit & { timezone?: string },
  ): Promise<GrantScene<M>> {
    const organizationId = await newOrganization(test, "Northwind Maps");
    await run(test, "UPDATE organizations SET timezone = ? WHERE id = ?", timezone, organizationId);
    const [key = { id: "", fullKey: "" }] = await newKeys(test, organizationId, 1);
    const added = await addLimit(test, { organizationId }, { productSlug: "tiles", ...limit });
    return new GrantScene(test, organizationId, key, added, model);
  }

  operator() {
    return operatorAccess(this.test.services, commandLineActor, this.organizationId);
  }

  /** Gives a grant without telling the model. `endsAt`: `Infinity` if it doesn't expire. */
  async give(
    quantity: number,
    { endsAt = Infinity, refill = null, limitId = this.limit.id }: {
      endsAt?: number;
      refill?: NonNullable<Parameters<typeof createGrant>[2]["refill"]> | null;
      limitId?: string;
    } = {},
  ) {
    const { grant } = await createGrant(this.test.services, await this.operator(), {
      limitId,
      quantity: split(quantity),
      expiresAt: endsAt === Infinity ? null : endsAt,
      refill,
      reason: "Paid.",
      idempotencyKey: `k${this.#names++}`,
    });
    return grant;
  }

  /** Records a request. @returns The ids of its records; null if a limit rejects it. */
  async record(inputs: readonly SentInput[]): Promise<string[] | null> {
    const recorded = await this.test.services.recorder.record({
      keyHash: hashApiKey(this.key.fullKey),
      inputs: inputs.map(({ quantity, productSlug = "tiles", timestamp = null }) => ({
        productSlug,
        metric: "requests",
        quantity: split(quantity),
        timestamp,
        idempotencyKey: null,
        properties: null,
      })),
      bytes: 1,
    }).catch((error) => {
      if (error instanceof AppError && error.code === "limit_exceeded") return null;
      throw error;
    });
    return recorded && inputs.map((_, at) => recorded.usageRecord(at).id);
  }

  async voidRecord(id: string): Promise<void> {
    const { services } = this.test;
    const client = { address: "127.0.0.1", userAgent: "", requestId: null };
    const access = await keyAccess(services, hashApiKey(this.key.fullKey), client);
    await voidUsageRecord(services, access, { id, reason: "Wrong.", signal: new AbortController().signal });
  }

  /** Takes a step that all histories have, and tells the model. */
  async take(step: GrantStep): Promise<void> {
    const { test, model, records, grantIds } = this;
    switch (step.type) {
      case "grant": {
        const quantity = step.quantity === 0 ? 1 : step.quantity;
        const endsAt = step.hours === null ? Infinity : test.now() + (step.hours + 1) * hourMs;
        grantIds.push((await this.give(quantity, { endsAt })).id);
        model.grant(micros(quantity), endsAt, test.now());
        break;
      }
      case "void": {
        const chosen = records[step.which % records.length];
        if (chosen === undefined) break;
        await this.voidRecord(chosen.id);
        if (!this.#voided.has(chosen.id)) (model as Model<RecordOf<M>>).void(chosen.record);
        this.#voided.add(chosen.id);
        break;
      }
      case "voidGrant": {
        const which = step.which % grantIds.length;
        const [id, grant] = [grantIds[which], model.grants[which]];
        if (id === undefined || grant === undefined) break;
        await voidGrant(test.services, await this.operator(), { id, reason: "Refunded." });
        grant.isVoided = true;
        break;
      }
      case "advance":
        test.advance(step.hours * hourMs);
        break;
      case "limit":
        model.quantity = micros(step.quantity);
        await this.setQuantity(step.quantity);
    }
  }

  setQuantity(quantity: number): Promise<void> {
    return run(this.test, "UPDATE usage_limits SET quantity_whole = ? WHERE id = ?", quantity, this.limit.id);
  }

  /** Waits for usage of soft limits, which is taken from grants once their counters have all earlier usage. */
  settled(): Promise<void> {
    return doWork(this.test, "counters");
  }

  /** Returns the limit's quantity, and what is used and left of it, in millionths. */
  async numbers(): Promise<bigint[]> {
    const { signal } = new AbortController();
    const limits = await readLimits(this.test.services, await this.operator(), { signal });
    const limit = limits.find(({ limitId }) => limitId === this.limit.id);
    return [limit?.quantity, limit?.used, limit?.remaining].map((value) => micros(value ?? -1));
  }

  /** Returns the numbers of {@linkcode numbers} by the model. */
  expected(used: bigint): bigint[] {
    const raised = this.model.raised(this.test.now());
    return [raised, used, raised > used ? raised - used : 0n];
  }

  /** Returns grants, the oldest first. */
  async grants() {
    const { grants } = await listGrants(this.test.services, await this.operator(), { limit: 100 });
    return grants.toReversed();
  }
}
