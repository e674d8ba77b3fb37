// The recorder: group commit of usage. While one group is on its way to disk the next requests gather. Nobody is
// answered before the commit; nobody is answered with more than what it returned.
import { setImmediate } from "node:timers";
import {
  type ActiveKey,
  type GroupRecord,
  type RecordOutcome,
  recordUsage,
  type TakenRecord,
} from "../db/recorder.ts";
import { AppError, invalidApiKeyError, unavailableError } from "../domain/errors.ts";
import {
  recorderCommitBytesMax,
  recorderCommitRecordsMax,
  recorderQueueBytesMax,
  recorderQueueRecordsMax,
} from "../domain/limits.ts";
import { joinQuantity } from "../domain/quantity.ts";
import {
  idempotencyKeyHash,
  isSameUsage,
  propertiesText,
  shownUsageRecord,
  type UsageInput,
  type UsageRecord,
  usageRecordId,
} from "../domain/usage_record.ts";
import { isoTime } from "../domain/usage_window.ts";
import type { ServiceContext } from "./context.ts";

/** One request to record: all of its records are kept, or none. */
export interface RecordRequest {
  /** SHA-256 of the API key that was shown, in hexadecimal. */
  readonly keyHash: string;
  readonly inputs: readonly UsageInput[];
  /** Size of the request's body, for the bound of the queue. */
  readonly bytes: number;
}

/** What became of one record. */
export interface RecordedUsage {
  readonly usageRecord: UsageRecord;
  /** It was there already, by its idempotency key. */
  readonly duplicate: boolean;
}

interface Waiting extends RecordRequest {
  readonly resolve: (recorded: RecordedUsage[]) => void;
  readonly reject: (error: unknown) => void;
  /** For each input: the earlier input of the same request that it repeats, or itself. */
  readonly repeats: readonly number[];
  /** Inputs that use an earlier input's idempotency key for something else. */
  readonly conflicts: readonly number[];
}

/** A single record repeats nothing within its request. */
const single = { repeats: [0], conflicts: [] } as const;

/** Takes requests and commits them in groups. */
export class Recorder {
  readonly #context: ServiceContext;
  #queue: Waiting[] = [];
  #queuedRecords = 0;
  #queuedBytes = 0;
  #committing: Promise<void> | undefined;
  #closed = false;

  /** @param context See {@linkcode ServiceContext}. */
  constructor(context: ServiceContext) {
    this.#context = context;
  }

  /** Records that wait for the next commit. */
  get queuedRecords(): number {
    return this.#queuedRecords;
  }

  /**
   * Records one request.
   *
   * @returns What became of each input, in order, once it is on disk.
   * @throws {AppError} `invalid_api_key`, `idempotency_conflict` (then nothing of the request was recorded),
   *   `unavailable` (the queue is full, at once; or the database does not answer: send it again with the same keys).
   */
  record(request: RecordRequest): Promise<RecordedUsage[]> {
    const isFull = this.#queuedRecords + request.inputs.length > recorderQueueRecordsMax ||
      this.#queuedBytes + request.bytes > recorderQueueBytesMax;
    if (this.#closed || isFull) {
      return Promise.reject(
        unavailableError("Too many records are waiting to be written. Send this one again."),
      );
    }
    return new Promise((resolve, reject) => {
      const { repeats, conflicts } = request.inputs.length === 1 ? single : repeatsWithin(request.inputs);
      this.#queue.push({
        keyHash: request.keyHash,
        inputs: request.inputs,
        bytes: request.bytes,
        repeats,
        conflicts,
        resolve,
        reject,
      });
      this.#queuedRecords += request.inputs.length;
      this.#queuedBytes += request.bytes;
      this.#committing ??= this.#commitAll();
    });
  }

  /** Writes what waits, then takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#committing;
  }

  async #commitAll(): Promise<void> {
    while (this.#queue.length > 0) {
      // Requests that have arrived but were not looked at yet go with this commit. A timer would do the same worse: a
      // millisecond of waiting for each commit halves what 128 connections can record.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const group = this.#takeGroup();
      try {
        await this.#commit(group);
      } catch (error) {
        for (const waiting of group) waiting.reject(error);
      }
    }
    this.#committing = undefined;
  }

  /** Takes requests in order of arrival; one whose idempotency key is already in the group waits for the next. */
  #takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    const rest: Waiting[] = [];
    const keys = new Set<string>();
    let records = 0;
    let bytes = 0;
    for (const waiting of this.#queue) {
      const isTaken = waiting.inputs.some(({ idempotencyKey }) =>
        idempotencyKey !== null && keys.has(idempotencyKey)
      );
      const isFull = group.length > 0 && (records + waiting.inputs.length > recorderCommitRecordsMax ||
        bytes + waiting.bytes > recorderCommitBytesMax);
      if (isTaken || isFull) {
        rest.push(waiting);
        continue;
      }
      for (const { idempotencyKey } of waiting.inputs) if (idempotencyKey !== null) keys.add(idempotencyKey);
      records += waiting.inputs.length;
      bytes += waiting.bytes;
      this.#queuedBytes -= waiting.bytes;
      group.push(waiting);
    }
    this.#queue = rest;
    this.#queuedRecords -= records;
    return group;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const now = this.#context.clock();
    const built = buildGroup(group, now);
    const outcome = await recordUsage(this.#context.database, built);
    settle(group, { ...built, outcome });
  }
}

/** Where each request's records are in the group. */
interface BuiltGroup {
  readonly now: number;
  readonly keyHashes: string[];
  readonly series: [keyHash: string, productSlug: string, metric: string][];
  readonly records: GroupRecord[];
  /** For each request and input, the place in `records`, or −1 for an input that was not sent. */
  readonly places: number[][];
}

function buildGroup(group: readonly Waiting[], now: number): BuiltGroup {
  const keyHashes = new Map<string, number>();
  const seriesPlaces = new Map<string, number>();
  const series: BuiltGroup["series"] = [];
  const records: GroupRecord[] = [];
  const places = group.map((waiting, request) => {
    if (!keyHashes.has(waiting.keyHash)) keyHashes.set(waiting.keyHash, keyHashes.size);
    return waiting.inputs.map((input, index) => {
      // A request that contradicts itself is only authenticated: its conflict is told to nobody without a key.
      if (waiting.conflicts.length > 0 || waiting.repeats[index] !== index) return -1;
      const name = `${waiting.keyHash} ${input.productSlug} ${input.metric}`;
      let place = seriesPlaces.get(name);
      if (place === undefined) {
        place = series.push([waiting.keyHash, input.productSlug, input.metric]) - 1;
        seriesPlaces.set(name, place);
      }
      return records.push({
        series: place,
        timestamp: input.timestamp ?? now,
        timestampGiven: input.timestamp !== null,
        whole: input.quantity.whole,
        micro: input.quantity.micro,
        idempotencyKey: input.idempotencyKey,
        keyHash: input.idempotencyKey === null ? 0 : idempotencyKeyHash(input.idempotencyKey),
        properties: propertiesText(input.properties),
        request,
      }) - 1;
    });
  });
  return { now, keyHashes: [...keyHashes.keys()], series, records, places };
}

function settle(group: readonly Waiting[], result: BuiltGroup & { outcome: RecordOutcome }): void {
  const { outcome, places } = result;
  const keys = new Map(outcome.activeKeys.map((key) => [result.keyHashes[key.position], key]));
  const taken = new Map(outcome.taken.map((record) => [record.position, record]));
  let expected = 0;
  const recordedAt = isoTime(result.now);
  const settlements: (() => void)[] = [];
  for (const [request, waiting] of group.entries()) {
    const key = keys.get(waiting.keyHash);
    if (key === undefined) {
      settlements.push(() => waiting.reject(invalidApiKeyError()));
      continue;
    }
    const requestPlaces = places[request] ?? [];
    const conflicts = [...waiting.conflicts];
    let isNew = 0;
    for (const [index, place] of requestPlaces.entries()) {
      const first = taken.get(place);
      if (first?.differs === 1) conflicts.push(index);
      if (first === undefined && place >= 0) isNew++;
    }
    if (conflicts.length > 0) {
      settlements.push(() => waiting.reject(idempotencyConflict(waiting, conflicts)));
      continue;
    }
    expected += isNew;
    const fate = {
      now: result.now,
      recordedAt,
      key,
      firstSeq: outcome.firstSeq,
      taken,
      places: requestPlaces,
    };
    settlements.push(() => waiting.resolve(recordedOf(waiting, fate)));
  }
  // The database must have inserted exactly what is about to be acknowledged.
  if (expected !== outcome.inserted) {
    throw new Error(`${outcome.inserted} records were inserted where ${expected} were expected`);
  }
  for (const tell of settlements) tell();
}

function recordedOf(
  waiting: Waiting,
  found: {
    readonly now: number;
    /** `now` as a text: the same for the whole group. */
    readonly recordedAt: string;
    readonly key: ActiveKey;
    readonly firstSeq: number;
    readonly taken: ReadonlyMap<number, TakenRecord>;
    readonly places: readonly number[];
  },
): RecordedUsage[] {
  const { now, recordedAt } = found;
  return waiting.inputs.map((input, index) => {
    const place = found.places[waiting.repeats[index] ?? index] ?? -1;
    const first = found.taken.get(place);
    if (first !== undefined) return { duplicate: true, usageRecord: shownUsageRecord(first) };
    return {
      duplicate: waiting.repeats[index] !== index,
      usageRecord: {
        id: usageRecordId({ seq: found.firstSeq + place, recordedAt: now }),
        productSlug: input.productSlug,
        metric: input.metric,
        quantity: joinQuantity(input.quantity),
        timestamp: input.timestamp === null ? recordedAt : isoTime(input.timestamp),
        recordedAt,
        idempotencyKey: input.idempotencyKey,
        properties: input.properties,
        apiKeyId: found.key.id,
        voidedAt: null,
        voidedBy: null,
        voidReason: null,
      },
    };
  });
}

function repeatsWithin(inputs: readonly UsageInput[]): { repeats: number[]; conflicts: number[] } {
  const firsts = new Map<string, number>();
  const conflicts: number[] = [];
  const repeats = inputs.map((input, index) => {
    if (input.idempotencyKey === null) return index;
    const first = firsts.get(input.idempotencyKey);
    if (first === undefined) {
      firsts.set(input.idempotencyKey, index);
      return index;
    }
    const firstInput = inputs[first];
    if (firstInput !== undefined && !isSameUsage(firstInput, input)) conflicts.push(index);
    return first;
  });
  return { repeats, conflicts };
}

function idempotencyConflict(waiting: Waiting, conflicts: readonly number[]): AppError {
  const message = "was used before for a record with other content.";
  const isBatch = waiting.inputs.length > 1;
  return new AppError(
    "idempotency_conflict",
    "This idempotency key was used before for a record with other content.",
    {
      details: [...new Set(conflicts)].sort((a, b) => a - b).map((index) => ({
        path: isBatch ? `records[${index}].idempotencyKey` : "idempotencyKey",
        message,
      })),
    },
  );
}
