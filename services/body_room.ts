// Bounds the memory that large request bodies take in one thread, from their first byte to the response.
import { unavailableError } from "../domain/errors.ts";
import { largeBodiesBytesMax, usageBodyBytesMax } from "../domain/limits.ts";

export class BodyRoom {
  readonly #bytesMax: number;
  #bytes = 0;
  readonly #senders = new Map<string, number>();

  /** @param threads How many threads have an equal part. Each has room for the largest bodies of two senders. */
  constructor(threads: number) {
    this.#bytesMax = Math.max(Math.floor(largeBodiesBytesMax / threads), 2 * usageBodyBytesMax);
  }

  /**
   * Reserves room. One sender gets at most half of it.
   *
   * @returns Releases the room.
   * @throws {AppError} `unavailable`.
   */
  take(bytes: number, sender: string): () => void {
    const own = (this.#senders.get(sender) ?? 0) + bytes;
    if (this.#bytes + bytes > this.#bytesMax || own > this.#bytesMax / 2) {
      throw unavailableError("Too many large requests are in progress. Try again shortly.");
    }
    this.#bytes += bytes;
    this.#senders.set(sender, own);
    return () => {
      this.#bytes -= bytes;
      const left = (this.#senders.get(sender) ?? 0) - bytes;
      if (left > 0) this.#senders.set(sender, left);
      else this.#senders.delete(sender);
    };
  }
}
