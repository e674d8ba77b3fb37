// Bounds the memory that large request bodies take in one thread, from their first byte to the response.
import { unavailableError } from "../domain/errors.ts";
import { largeBodiesBytesMax } from "../domain/limits.ts";

/** The room for bodies of several senders, such as organizations. */
export class BodyRoom {
  #bytes = 0;
  readonly #senders = new Map<string, number>();

  /** Returns a place for the body of a request, without any room yet. */
  open(sender: string): BodyPlace {
    return new BodyPlace((bytes) => this.#take(bytes, sender));
  }

  /**
   * Takes room, or returns it if `bytes` is negative. A sender gets at most half of what the others leave, so that some is left
   * for another one.
   */
  #take(bytes: number, sender: string): void {
    const before = this.#senders.get(sender) ?? 0;
    const own = before + bytes;
    const others = this.#bytes - before;
    if (bytes > 0 && own > (largeBodiesBytesMax - others) / 2) {
      throw unavailableError("Too many large requests are in progress. Try again shortly.");
    }
    this.#bytes += bytes;
    if (own > 0) this.#senders.set(sender, own);
    else this.#senders.delete(sender);
  }
}

/** The room of one request's body. */
export class BodyPlace {
  readonly #take: (bytes: number) => void;
  #bytes = 0;
  #isClosed = false;

  constructor(take: (bytes: number) => void) {
    this.#take = take;
  }

  /** Reserves room for a body of this size. @throws {AppError} `unavailable` if there is none, or after {@linkcode close}. */
  growTo(bytes: number): void {
    if (this.#isClosed) throw unavailableError("The request has ended.");
    this.#take(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  /** Releases the reserved room. Repeating it does no harm. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#take(-this.#bytes);
  }
}
