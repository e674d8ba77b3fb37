// Notes the last use of each API key in the background: a request never waits for it. Per thread, each key is written at most
// once in a few seconds, and the number of keys is bounded; with more of them, some are noted later or not at all.
import type { DatabaseReader } from "../../db/engine/database.ts";
import { findLastRequest, hasRecorded, type KeyUse, noteKeyUses } from "../../db/meter/last_requests.ts";
import type { ApiKey, LastRequest } from "../../domain/keys/api_key.ts";
import { isoTime } from "../../domain/time.ts";
import { networkOf } from "../address_blocks.ts";
import type { BaseContext } from "../base_context.ts";

interface RequestDetails {
  readonly address: string;
  readonly userAgent: string;
  /** The message of the error; null for an accepted request. */
  readonly error: string | null;
}

const intervalMs = 10_000;
const flushMs = 500;
const waitingKeysMax = 1_000;
const writtenKeysMax = 200;
const charactersMax = 200;

/** The last uses of keys by requests that one thread has handled. */
export class LastRequests {
  readonly #context: BaseContext;
  readonly #onBackgroundError: (error: unknown) => void;
  readonly #waiting = new Map<string, KeyUse>();
  /** When keys were written in the last interval. */
  readonly #writtenAt = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(context: BaseContext, options: { onBackgroundError: (error: unknown) => void }) {
    this.#context = context;
    this.#onBackgroundError = options.onBackgroundError;
  }

  /** Notes a request. `details` is only read if the request isn't like the one waiting to be written. */
  note(keyHash: string, status: number, details: () => RequestDetails): void {
    if (this.#waiting.get(keyHash)?.request?.status === status || !this.#hasRoomFor(keyHash)) return;
    const { address, userAgent, error } = details();
    this.#add(keyHash, {
      network: networkOf(address),
      userAgent: shortText(userAgent),
      status,
      error: error === null ? null : shortText(error),
    });
  }

  noteVerification(keyHash: string): void {
    if (!this.#waiting.has(keyHash) && this.#hasRoomFor(keyHash)) this.#add(keyHash, null);
  }

  /** Writes the uses of keys that were not written in the last interval. */
  async flush(): Promise<void> {
    const now = this.#context.clock();
    for (const [keyHash, at] of this.#writtenAt) {
      if (now - at >= intervalMs) this.#writtenAt.delete(keyHash);
    }
    const uses: KeyUse[] = [];
    for (const use of this.#waiting.values()) {
      if (uses.length === writtenKeysMax) break;
      if (!this.#writtenAt.has(use.keyHash)) uses.push(use);
    }
    for (const { keyHash } of uses) {
      this.#waiting.delete(keyHash);
      this.#writtenAt.set(keyHash, now);
    }
    if (uses.length === 0) return;
    try {
      await this.#context.database.write(noteKeyUses(uses));
    } catch (error) {
      for (const use of uses) if (!this.#waiting.has(use.keyHash)) this.#waiting.set(use.keyHash, use);
      throw error;
    }
  }

  /** Writes the uses of some keys a last time, and drops the rest: a stopping server has no time for more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#writtenAt.clear();
    await this.flush().catch(this.#onBackgroundError);
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  /** Returns true if a use of a key can wait. */
  #hasRoomFor(keyHash: string): boolean {
    // Keys that were written just now leave room for others, so that busy keys of one organization can't keep out all others.
    const max = this.#writtenAt.has(keyHash) ? waitingKeysMax / 2 : waitingKeysMax;
    return this.#waiting.has(keyHash) || this.#waiting.size < max;
  }

  #add(keyHash: string, request: KeyUse["request"]): void {
    this.#waiting.set(keyHash, { keyHash, at: this.#context.clock(), request });
    this.#schedule();
  }

  #schedule(): void {
    // A write that fails after the end would be repeated forever.
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(async () => {
      await this.flush().catch(this.#onBackgroundError);
      this.#timer = undefined;
      if (this.#waiting.size > 0) this.#schedule();
    }, flushMs);
  }
}

export async function readLastRequest(
  { database }: { readonly database: DatabaseReader },
  apiKeys: readonly Pick<ApiKey, "id">[],
): Promise<LastRequest | null> {
  const row = await findLastRequest(database, apiKeys.map(({ id }) => id));
  return row === undefined ? null : { ...row, at: isoTime(row.at) };
}

/** Returns true if a request with a used key was accepted. @param last Its last request, or null if none is known. */
export async function wasAccepted(
  { database }: { readonly database: DatabaseReader },
  { id }: Pick<ApiKey, "id">,
  last: LastRequest | null,
): Promise<boolean> {
  return last === null || last.status < 400 || await hasRecorded(database, id);
}

/** Replaces control characters, and cuts a text off. */
export function shortText(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, " ").slice(0, charactersMax).toWellFormed();
}
