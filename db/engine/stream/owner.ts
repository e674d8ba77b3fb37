// Keeps two servers from one target: an object there says whose it is.
import {
  streamOwnerCheckMs,
  streamOwnerRenewMs,
  streamOwnerStaleMs,
  streamTakeOverMs,
} from "../../../domain/stream_limits.ts";
import { ownerName } from "./segment.ts";
import type { Target } from "./target.ts";

interface OwnerObject {
  /** Identifies the data file, in each of its runs. */
  readonly server: string;
  readonly run: string;
  readonly hasEnded?: boolean;
}

/** The target belongs to another server, or to a later run on a copy of this server's data file. */
export class ForeignTarget extends Error {}

export class Owner {
  readonly #target: Target;
  readonly #self: OwnerObject;
  readonly #clock: () => number;
  #checkedAt = -Infinity;
  #writtenAt = -Infinity;

  /** @param options `clock`: milliseconds from any moment on, never set back. */
  constructor(target: Target, { server, clock }: { server: string; clock: () => number }) {
    this.#target = target;
    this.#self = { server, run: crypto.randomUUID() };
    this.#clock = clock;
  }

  get isClaimed(): boolean {
    return this.#writtenAt > -Infinity;
  }

  /**
   * Makes sure that the target is this run's, asking it at most every few seconds.
   *
   * @returns When it has just become this run's: for how long to wait before the first upload, since another run may not have noticed
   *   yet. Otherwise null.
   * @throws {ForeignTarget}
   */
  async check(): Promise<number | null> {
    const now = this.#clock();
    if (now - this.#checkedAt < streamOwnerCheckMs) return null;
    const found = await this.#target.get(ownerName);
    const other = found === null ? null : parse(found.bytes);
    const isFirst = !this.isClaimed;
    if (found !== null && other !== null && other.run !== this.#self.run) {
      const isFormer = other.server === this.#self.server && isFirst;
      if (!isFormer && other.hasEnded !== true && found.ageMs < streamOwnerStaleMs) {
        this.#writtenAt = -Infinity;
        throw new ForeignTarget(`another server copies to this target (${other.server})`);
      }
    }
    if (now - this.#writtenAt >= streamOwnerRenewMs || other?.run !== this.#self.run) {
      await this.#write(this.#self);
    }
    this.#checkedAt = this.#clock();
    if (!isFirst) return null;
    return other === null || other.hasEnded === true ? 0 : streamTakeOverMs;
  }

  async end(): Promise<void> {
    if (this.isClaimed) await this.#write({ ...this.#self, hasEnded: true });
  }

  async #write(owner: OwnerObject): Promise<void> {
    const now = this.#clock();
    await this.#target.put(ownerName, new TextEncoder().encode(JSON.stringify(owner)));
    this.#writtenAt = now;
  }
}

function parse(bytes: Uint8Array): OwnerObject | null {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
