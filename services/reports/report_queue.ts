// Whose turn it is on the reports thread. A report works in turns of some milliseconds. Organizations take turns, whatever
// each of them has asked for; a report whose client is slow to read holds no turn and no place among the running ones.
import { unavailableError } from "../../domain/errors.ts";

/** How much there may be at once. */
export interface ReportQueueLimits {
  /** Turns at once: one where reading is synchronous. */
  readonly turnsMax: number;
  /** Reports of one organization that are under way; a report that waits for its client is not. */
  readonly runningPerOrganizationMax: number;
  /** Reports of one organization, and of all, that are under way, wait to begin or wait for their clients. */
  readonly openPerOrganizationMax: number;
  readonly openMax: number;
}

/** A report's place in the queue. Each method throws the signal's reason when the report was cancelled. */
export interface ReportPlace {
  /** Waits for the first turn. @throws {AppError} `unavailable` when the program stops before it. */
  begin(): Promise<void>;
  /** Lets the others have a turn. */
  turn(): Promise<void>;
  /** Waits for something slow; the others go on meanwhile. */
  aside(slow: Promise<void>): Promise<void>;
  /** Gives the place up. */
  leave(): void;
}

interface Waiting {
  readonly go: () => void;
  readonly reject: (error: unknown) => void;
  readonly isNew: boolean;
}

/** The reports of one organization. */
interface Line {
  /** What cancels each report that is open, the newest last. */
  readonly open: Set<AbortController>;
  running: number;
  /** Not under way: new ones, and first those that were aside. */
  readonly outside: Waiting[];
  /** Under way, and waiting for their next turn. */
  readonly inside: Waiting[];
}

/** So long after a turn, in milliseconds, messages may still be waiting to be read. */
const settleMs = 5;

/** Gives turns to reports. */
export class ReportQueue {
  readonly #limits: ReportQueueLimits;
  /** By organization; the first is the one whose turn comes next. */
  readonly #lines = new Map<string, Line>();
  #open = 0;
  #turns = 0;
  #waiting = 0;
  #turnEndedAt = Number.NEGATIVE_INFINITY;
  #isGranting = false;
  #isDraining = false;

  /** @param limits See {@linkcode ReportQueueLimits}. */
  constructor(limits: ReportQueueLimits) {
    this.#limits = limits;
  }

  /**
   * When there are too many reports of all, the newest of the organization with the most is cancelled for one of an
   * organization with fewer: a person with many organizations, each with its number, keeps nobody out.
   *
   * @param cancel Cancels the report.
   * @returns A place, to be given up when the report ends.
   * @throws {AppError} `unavailable` when there are too many reports.
   */
  enter(organizationId: string, cancel: AbortController): ReportPlace {
    const { signal } = cancel;
    const line = this.#lines.get(organizationId) ??
      { open: new Set<AbortController>(), running: 0, outside: [], inside: [] };
    if (this.#isDraining) throw stopping();
    if (line.open.size >= this.#limits.openPerOrganizationMax) {
      throw unavailableError("Your organization has too many reports open. Try again when one has finished.");
    }
    if (this.#open >= this.#limits.openMax && !this.#makeRoom(line)) throw tooMany();
    this.#lines.set(organizationId, line);
    line.open.add(cancel);
    this.#open++;
    let [hasTurn, isRunning] = [false, false];
    const giveBack = ({ stay }: { stay: boolean }) => {
      if (hasTurn) {
        this.#turns--;
        this.#turnEndedAt = performance.now();
      }
      hasTurn = false;
      if (isRunning && !stay) {
        line.running--;
        isRunning = false;
      }
      this.#grantSoon();
    };
    const wait = async (where: Waiting[], options: { isNew: boolean; isFirst: boolean }) => {
      await this.#wait(where, { ...options, signal });
      hasTurn = true;
      isRunning = true;
    };
    return {
      begin: () => wait(line.outside, { isNew: true, isFirst: false }),
      turn: () => {
        const next = wait(line.inside, { isNew: false, isFirst: false });
        giveBack({ stay: true });
        return next;
      },
      aside: async (slow) => {
        giveBack({ stay: false });
        await slow;
        await wait(line.outside, { isNew: false, isFirst: true });
      },
      leave: () => {
        giveBack({ stay: false });
        if (line.open.delete(cancel)) this.#open--;
        if (line.open.size === 0 && this.#lines.get(organizationId) === line) {
          this.#lines.delete(organizationId);
        }
      },
    };
  }

  /** Cancels a report of the organization with the most. @returns Whether that has more than this one will have. */
  #makeRoom(line: Line): boolean {
    let largest = line;
    for (const other of this.#lines.values()) if (other.open.size > largest.open.size) largest = other;
    const newest = [...largest.open].at(-1);
    if (newest === undefined || largest.open.size <= line.open.size + 1) return false;
    largest.open.delete(newest);
    this.#open--;
    newest.abort(tooMany());
    return true;
  }

  /** Rejects what has not begun, and everything new. */
  drain(): void {
    this.#isDraining = true;
    for (const { outside } of this.#lines.values()) {
      for (const waiting of [...outside]) if (waiting.isNew) waiting.reject(stopping());
    }
  }

  #wait(
    where: Waiting[],
    { isNew, isFirst, signal }: { isNew: boolean; isFirst: boolean; signal: AbortSignal },
  ): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const end = () => {
        signal.removeEventListener("abort", cancel);
        const place = where.indexOf(waiting);
        if (place >= 0) where.splice(place, 1);
        this.#waiting--;
      };
      const cancel = () => waiting.reject(signal.reason);
      const waiting: Waiting = {
        isNew,
        go: () => (end(), resolve()),
        reject: (error) => (end(), reject(error)),
      };
      signal.addEventListener("abort", cancel);
      this.#waiting++;
      if (isFirst) where.unshift(waiting);
      else where.push(waiting);
      // While a turn lasts no message is received: right after it, others may have come before this one was read.
      if (performance.now() - this.#turnEndedAt < settleMs) this.#grantSoon();
      else if (!this.#isGranting) this.#grant();
    });
  }

  /** After the messages that have arrived: a cancelled report takes no turn, and a new one may come first. */
  #grantSoon(): void {
    if (this.#isGranting || this.#waiting === 0) return;
    this.#isGranting = true;
    setTimeout(() => {
      this.#isGranting = false;
      this.#grant();
    }, 0);
  }

  #grant(): void {
    while (this.#turns < this.#limits.turnsMax) {
      const waiting = this.#next();
      if (waiting === undefined) return;
      this.#turns++;
      waiting.go();
    }
  }

  #next(): Waiting | undefined {
    for (const [organizationId, line] of this.#lines) {
      const starts = line.outside.length > 0 && line.running < this.#limits.runningPerOrganizationMax;
      const waiting = starts ? line.outside[0] : line.inside[0];
      if (waiting === undefined) continue;
      if (starts) line.running++;
      this.#lines.delete(organizationId);
      this.#lines.set(organizationId, line);
      return waiting;
    }
    return undefined;
  }
}

function tooMany() {
  return unavailableError("Too many reports are open. Try again shortly.");
}

function stopping() {
  return unavailableError("The service is stopping. Try again shortly.");
}
