// Counts requests with API keys by outcome, in memory, and writes the counts in the background: a request never waits for it.
// A server that is killed, or can't write, loses the last seconds. What needs more than its share of memory isn't counted.
import { writeIf } from "../../db/due_work.ts";
import {
  addOutcomes,
  deleteOldOutcomes,
  findKnownHashes,
  hasOldOutcomes,
  type KeyOutcomes,
  type KeyRejection,
  notWorking,
} from "../../db/meter/request_outcomes.ts";
import { AppError } from "../../domain/errors.ts";
import { limitSweepRowsMax, rollupHourMs } from "../../domain/limits.ts";
import {
  type Outcome,
  outcomeNumber,
  outcomeOfError,
  outcomes,
  outcomesKeptMs,
  rejectingLimit,
  rejectionsKeptMs,
  rejectionsOfKeyMax,
} from "../../domain/meter/outcome.ts";
import type { BaseContext } from "../base_context.ts";
import { shortText } from "./last_requests.ts";

const flushMs = 5_000;
/** Keys and rejections that wait to be written, of one organization and of all. */
const keysOfOrganizationMax = 2_000;
const keysMax = 10_000;
const rejectionsOfOrganizationMax = 200;
const rejectionsMax = 2_000;
const writtenKeysMax = 200;

type NewRejection = Pick<KeyRejection, "requestId" | "message" | "limit">;

interface Share {
  keys: number;
  rejections: number;
}

interface Waiting extends KeyOutcomes {
  readonly counts: number[];
  readonly rejections: KeyRejection[];
  readonly share: Share;
  /** False for a key that may not exist. */
  readonly isKnown: boolean;
  /** The position of the oldest rejection, once there are as many as are kept. */
  oldest: number;
}

/** The outcomes of requests that one thread has handled. */
export class RequestOutcomes {
  readonly #context: BaseContext;
  readonly #onBackgroundError: (error: unknown) => void;
  /** By hash, of the current hour. */
  readonly #waiting = new Map<string, Waiting>();
  /** Of earlier hours. */
  #earlier: Waiting[] = [];
  readonly #shares = new Map<string | null, Share>();
  readonly #all: Share = { keys: 0, rejections: 0 };
  /** Resolves when no flush is writing. */
  #writing: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(context: BaseContext, options: { onBackgroundError: (error: unknown) => void }) {
    this.#context = context;
    this.#onBackgroundError = options.onBackgroundError;
  }

  /** Counts a request that was accepted, or repeats one that was. */
  accept(keyHash: string, organizationId: string, { isRepeat }: { isRepeat: boolean }): void {
    const waiting = this.#of(keyHash, organizationId);
    const number = isRepeat ? 1 : 0;
    if (waiting !== undefined) waiting.counts[number] = (waiting.counts[number] ?? 0) + 1;
  }

  /** Counts a rejected request with a key that works, and notes it as one of the last. Errors of the server are not counted. */
  rejectWith(
    keyHash: string,
    organizationId: string,
    rejected: { error: AppError; requestId: string },
  ): void {
    // Some proxies get another code than that of the rejection.
    const { error, requestId } = rejected;
    const cause = error.cause instanceof AppError ? error.cause : error;
    const outcome = outcomeOfError(cause);
    if (outcome === null) return;
    const limit = rejectingLimit(cause.limits?.[0]);
    this.reject(keyHash, organizationId, { outcome, requestId, message: cause.message, limit });
  }

  reject(
    keyHash: string,
    organizationId: string,
    { outcome, ...rejection }: NewRejection & { outcome: Outcome },
  ): void {
    this.#reject(this.#of(keyHash, organizationId), outcomeNumber(outcome), rejection);
  }

  /**
   * Counts a request with a key that doesn't work, if there is such a key.
   *
   * @param options `organizationId`: of a key that worked before. `isFlood`: the client sent too many: no more hashes wait.
   */
  rejectInvalid(
    keyHash: string,
    { organizationId = null, isFlood, requestId }: {
      organizationId?: string | null | undefined;
      isFlood: boolean;
      requestId: string;
    },
  ): void {
    if (isFlood && !this.#waiting.has(keyHash)) return;
    this.#reject(this.#of(keyHash, organizationId), notWorking, { requestId, message: null, limit: null });
  }

  #reject(waiting: Waiting | undefined, outcome: number, rejection: NewRejection): void {
    if (waiting === undefined) return;
    const { counts, rejections, share } = waiting;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    const message = rejection.message && shortText(rejection.message);
    const noted = { ...rejection, at: this.#context.clock(), outcome, message };
    const hasRoom = rejections.length < rejectionsOfKeyMax &&
      share.rejections < rejectionsOfOrganizationMax &&
      this.#all.rejections < rejectionsMax;
    if (hasRoom) {
      rejections.push(noted);
      share.rejections++;
      this.#all.rejections++;
    } else if (rejections.length > 0) {
      rejections[waiting.oldest] = noted;
      waiting.oldest = (waiting.oldest + 1) % rejections.length;
    }
  }

  /** Returns the counts of a key in this hour, or undefined without room for another key. @param organizationId Null if unknown. */
  #of(keyHash: string, organizationId: string | null): Waiting | undefined {
    const hour = Math.floor(this.#context.clock() / rollupHourMs);
    const found = this.#waiting.get(keyHash);
    if (found !== undefined) {
      if (found.hour === hour) return found;
      this.#waiting.delete(keyHash);
      this.#earlier.push(found);
    }
    const share = this.#shares.get(organizationId) ?? { keys: 0, rejections: 0 };
    if (share.keys >= keysOfOrganizationMax || this.#all.keys >= keysMax) return undefined;
    this.#shares.set(organizationId, share);
    share.keys++;
    this.#all.keys++;
    const counts = Array<number>(outcomes.length + 1).fill(0);
    const isKnown = organizationId !== null;
    const created = { keyHash, hour, counts, rejections: [], share, isKnown, oldest: 0 };
    this.#waiting.set(keyHash, created);
    this.#schedule();
    return created;
  }

  /** Writes what waits. What can't be written is lost: a libSQL server may have written it, and nothing may count twice. */
  async flush(): Promise<void> {
    const written = [...this.#earlier, ...this.#waiting.values()];
    this.#earlier = [];
    this.#waiting.clear();
    this.#shares.clear();
    Object.assign(this.#all, { keys: 0, rejections: 0 });
    const before = this.#writing;
    const writing = (async () => {
      await before;
      for (let at = 0; at < written.length; at += writtenKeysMax) {
        await this.#write(written.slice(at, at + writtenKeysMax));
      }
    })();
    this.#writing = writing.catch(() => {});
    await writing;
  }

  async #write(some: readonly Waiting[]): Promise<void> {
    const { database, clock } = this.#context;
    const uncertain = some.filter(({ isKnown }) => !isKnown).map(({ keyHash }) => keyHash);
    const known = uncertain.length === 0 ? new Set() : await findKnownHashes(database, uncertain);
    const added = some.filter(({ isKnown, keyHash }) => isKnown || known.has(keyHash))
      .map(({ keyHash, hour, counts, rejections }) => ({ keyHash, hour, counts, rejections }));
    if (added.length > 0) await database.write(addOutcomes(added, clock()));
  }

  /** Writes what waits a last time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.flush().catch(this.#onBackgroundError);
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(async () => {
      await this.flush().catch(this.#onBackgroundError);
      this.#timer = undefined;
      if (this.#waiting.size > 0) this.#schedule();
    }, flushMs);
  }
}

/** Deletes some counts and rejections that aren't kept any longer. Returns true if there may be more. */
export async function deleteSomeOutcomes(
  { database, clock }: Pick<BaseContext, "database" | "clock">,
): Promise<boolean> {
  const now = clock();
  const old = { hour: Math.floor((now - outcomesKeptMs) / rollupHourMs), at: now - rejectionsKeptMs };
  return await writeIf(database, hasOldOutcomes(old), deleteOldOutcomes(old, limitSweepRowsMax));
}
