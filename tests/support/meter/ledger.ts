// Records what load clients sent and how the service responded, so that a test can compare the database with it.
import type { Random } from "../runner/random.ts";

/** One record that was sent at least once. */
export interface SentRecord {
  /** Identifies the stored row: its idempotency key or, for a record without one, a property. */
  readonly marker: string;
  readonly hasKey: boolean;
  /** The API key used to send it. */
  readonly apiKey: string;
  readonly json: {
    readonly productSlug: string;
    readonly metric: string;
    readonly quantity: number;
    readonly timestamp?: string;
    readonly idempotencyKey?: string;
    readonly properties?: Readonly<Partial<Record<"marker" | "region" | "user", string>>>;
  };
  /** The quantity in millionths. */
  readonly micros: bigint;
  /** From the 201 or 200 response to a single record. */
  id: string | undefined;
  /** Whether any request with it succeeded. */
  isAcknowledged: boolean;
  /** Whether a void was requested (`asked`) or acknowledged (`yes`). */
  voided: "no" | "asked" | "yes";
}

/** How an operator records for the organization. */
export interface LoadOperator {
  readonly fullToken: string;
  readonly target: { readonly organizationId: string };
}

/** A single record, or a batch. */
export interface SentRequest {
  readonly isBatch: boolean;
  readonly apiKey: string;
  /** Who sends it instead of the key, if an operator does. */
  readonly operator: LoadOperator | undefined;
  readonly records: readonly SentRecord[];
  /** Whether it can be sent again safely: every record has an idempotency key. */
  readonly isRepeatable: boolean;
  isAcknowledged: boolean;
}

const sampleTexts = {
  productSlugs: ["tiles", "search", "routes"],
  metrics: ["requests", "bytes"],
  regions: ["eu", "us"],
} as const;
/** More than the values that a dimension lists. */
const usersMax = 1_500;
const quantityMicros = 1_000_000n;
/** How far back explicit timestamps go, in milliseconds. */
const timestampSpanMs = 6 * 3_600_000;

/** Everything that the clients sent. */
export class Ledger {
  readonly records = new Map<string, SentRecord>();
  readonly requests: SentRequest[] = [];
  /** Repeatable requests without a successful response so far. */
  readonly unanswered: SentRequest[] = [];
  /** Single records with an id, which can be voided. */
  readonly singles: SentRecord[] = [];
  /** Number of successful responses. */
  answered = 0;
  /** Unexpected responses. A test fails if there are any. */
  readonly surprises: string[] = [];
  readonly #random: Random;
  readonly #apiKeys: readonly string[];
  readonly #operator: LoadOperator | undefined;

  /** @param options `apiKeys`: full keys of one organization. `operator`: sends some of the batches. */
  constructor(options: { random: Random; apiKeys: readonly string[]; operator?: LoadOperator }) {
    this.#random = options.random;
    this.#apiKeys = options.apiKeys;
    this.#operator = options.operator;
  }

  /** Number of acknowledged records. */
  get acknowledged(): number {
    let count = 0;
    for (const { isAcknowledged } of this.records.values()) if (isAcknowledged) count++;
    return count;
  }

  /** @returns A new single record. @param keyChance How likely it has an idempotency key. @param options `isPlain`: without properties. */
  newSingle(keyChance = 0.5, { isPlain = false } = {}): SentRequest {
    const apiKey = this.#random.pick(this.#apiKeys);
    const record = this.#newRecord(apiKey, { hasKey: this.#random.chance(keyChance), isPlain });
    return this.#keep({ isBatch: false, apiKey, operator: undefined, records: [record] });
  }

  /** @returns A new batch with idempotency keys on all, some or none of its records, sometimes repeating an earlier record. */
  newBatch(recordsMax: number): SentRequest {
    const random = this.#random;
    const apiKey = random.pick(this.#apiKeys);
    const operator = random.chance(0.5) ? this.#operator : undefined;
    const keyChance = operator === undefined ? random.pick([0, 0, 0.5, 1]) : 1;
    const records = Array.from(
      { length: random.between(1, recordsMax) },
      () => this.#newRecord(apiKey, { hasKey: random.chance(keyChance), isPlain: false }),
    );
    const before = this.singles.length === 0 || !random.chance(0.2) ? undefined : random.pick(this.singles);
    if (before?.hasKey) records.push(before);
    return this.#keep({ isBatch: true, apiKey, operator, records });
  }

  /** Removes a random request from the unanswered ones. @returns The request. */
  takeUnanswered(): SentRequest | undefined {
    if (this.unanswered.length === 0) return undefined;
    const index = this.#random.between(0, this.unanswered.length - 1);
    return this.unanswered.splice(index, 1)[0];
  }

  #keep(parts: Omit<SentRequest, "isRepeatable" | "isAcknowledged">): SentRequest {
    const request = {
      ...parts,
      isRepeatable: parts.records.every(({ hasKey }) => hasKey),
      isAcknowledged: false,
    };
    this.requests.push(request);
    return request;
  }

  #newRecord(apiKey: string, { hasKey, isPlain }: { hasKey: boolean; isPlain: boolean }): SentRecord {
    const random = this.#random;
    const marker = `m${this.records.size}-${random.between(0, 0xffffffff).toString(16)}`;
    const quantity = this.#newQuantity();
    const record: SentRecord = {
      marker,
      hasKey,
      apiKey,
      json: {
        productSlug: random.pick(sampleTexts.productSlugs),
        metric: random.pick(sampleTexts.metrics),
        quantity: quantity.number,
        ...(random.chance(0.3)
          ? { timestamp: new Date(Date.now() - random.between(0, timestampSpanMs)).toISOString() }
          : {}),
        ...(hasKey ? { idempotencyKey: marker } : {}),
        ...!isPlain && {
          properties: {
            ...(hasKey ? {} : { marker }),
            ...(random.chance(0.7) ? { region: random.pick(sampleTexts.regions) } : {}),
            ...(random.chance(0.7) ? { user: `u${random.between(1, usersMax)}` } : {}),
          },
        },
      },
      micros: quantity.micros,
      id: undefined,
      isAcknowledged: false,
      voided: "no",
    };
    this.records.set(marker, record);
    return record;
  }

  #newQuantity(): { number: number; micros: bigint } {
    const random = this.#random;
    if (random.chance(0.1)) {
      return {
        number: Number.MAX_SAFE_INTEGER,
        micros: BigInt(Number.MAX_SAFE_INTEGER) * quantityMicros,
      };
    }
    const whole = random.between(0, 1_000);
    const micro = random.chance(0.5) ? 0 : random.between(0, 999_999);
    return {
      number: Number(`${whole}.${String(micro).padStart(6, "0")}`),
      micros: BigInt(whole) * quantityMicros + BigInt(micro),
    };
  }
}
