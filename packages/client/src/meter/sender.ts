// Sends the records of a queue in batches, one request at a time, until each is recorded or rejected.
import { join } from "node:path";
import { clearTimeout, setTimeout } from "node:timers";
import { parseObject, readText, retryAfterMs, untilAborted } from "../http.ts";
import { rejectedFile } from "./adoption.ts";
import { type Outcome, outcomeOf, type Reply } from "./outcome.ts";
import type { MeterSettings } from "./options.ts";
import type { Problems } from "./problems.ts";
import type { Line, Queue } from "./queue.ts";
import { parseLine } from "./record.ts";

const pauseMaxMs = 60_000;
const closingPauseMaxMs = 1_000;
const firstPauseMs = 200;

export class Sender {
  /** Records since the start, by outcome. */
  readonly counts = { sent: 0, duplicates: 0, rejected: 0 };
  readonly #settings: MeterSettings;
  readonly #queue: Queue;
  readonly #problems: Problems;
  #running: Promise<void> | undefined;
  /** Records up to this one are sent without waiting for more. */
  #flushUntil = 0;
  #isClosing = false;
  #isStopped = false;
  #failures = 0;
  /** Fewer than configured after a failure that may be due to too many. */
  #recordsMax: number;
  #request = new AbortController();
  /** Ends the current wait for more records, or for the next attempt. */
  #endWait = (): void => {};
  #isIdle = false;
  #progress = newSignal();

  constructor(settings: MeterSettings, queue: Queue, problems: Problems) {
    this.#settings = settings;
    this.#queue = queue;
    this.#problems = problems;
    this.#recordsMax = settings.batchRecordsMax;
  }

  /** Starts sending if records are waiting. */
  wake(): void {
    if (this.#isStopped || this.#queue.count === 0) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#announce();
      // Records may have been added after the loop ended.
      this.wake();
    });
    if (this.#isIdle && this.#isDue()) this.#endWait();
  }

  /** Returns true if all records up to a number were settled in time. */
  async flush(sequence: number, timeoutMs: number): Promise<boolean> {
    this.#flushUntil = Math.max(this.#flushUntil, sequence);
    this.wake();
    let isLate = false;
    const late = newSignal();
    const timer = setTimeout(() => {
      isLate = true;
      late.resolve();
    }, timeoutMs);
    while (this.#queue.oldest <= sequence && !isLate && !this.#isStopped) {
      await Promise.race([this.#progress.promise, late.promise]);
    }
    clearTimeout(timer);
    return this.#queue.oldest > sequence;
  }

  /** Pauses for at most a second from now on, unless Gatehouse demands more. */
  hurry(): void {
    this.#isClosing = true;
    this.#endWait();
  }

  /** Aborts the request under way and sends no more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#request.abort();
    this.#endWait();
    await this.#running;
  }

  #isDue(): boolean {
    const { batchRecordsMax, batchBytesMax } = this.#settings;
    const { count, bytes, oldest } = this.#queue;
    return count >= batchRecordsMax || bytes >= batchBytesMax || oldest <= this.#flushUntil ||
      this.#isClosing;
  }

  async #run(): Promise<void> {
    while (this.#queue.count > 0 && !this.#isStopped) {
      this.#isIdle = true;
      if (!this.#isDue()) await this.#wait(this.#settings.flushIntervalMs);
      this.#isIdle = false;
      const lines = this.#queue.take({ records: this.#recordsMax, bytes: this.#settings.batchBytesMax });
      const parts = [lines];
      for (let part = parts.shift(); part !== undefined && !this.#isStopped; part = parts.shift()) {
        if (part.length > 0) parts.unshift(...await this.#trySend(part));
      }
      this.#announce();
    }
  }

  /** Sends like {@linkcode #send}, but never rejects. */
  async #trySend(lines: Line[]): Promise<readonly Line[][]> {
    try {
      return await this.#send(lines);
    } catch (error) {
      await this.#delay({ kind: "wait", pauseMs: 0, isOverloaded: false, reason: String(error) });
      return [lines];
    }
  }

  /** Returns the records to send next, in parts. */
  async #send(lines: Line[]): Promise<readonly Line[][]> {
    if (lines.length > this.#recordsMax) {
      return [lines.slice(0, this.#recordsMax), lines.slice(this.#recordsMax)];
    }
    const reply = await this.#post(lines);
    const outcome = outcomeOf(reply, lines);
    if (outcome.kind === "wait") {
      await this.#delay(outcome);
      return [lines];
    }
    const isResumed = this.#failures > 0;
    this.#failures = 0;
    this.#recordsMax = Math.min(this.#recordsMax * 2, this.#settings.batchRecordsMax);
    if (outcome.kind === "split") {
      if (outcome.rejected.length > 0) await this.#reject(outcome.rejected, reply.reason);
    } else {
      this.#queue.settle(lines);
      this.counts.sent += lines.length;
      this.counts.duplicates += outcome.duplicates;
    }
    if (isResumed) {
      this.#problems.report("resumed", { reason: "sending has resumed", count: this.#queue.count });
    }
    return outcome.kind === "split" ? outcome.parts : [];
  }

  async #reject(lines: readonly Line[], reason: string): Promise<void> {
    await this.#queue.keepRejected(lines);
    this.#queue.settle(lines);
    this.counts.rejected += lines.length;
    const records = lines.slice(0, 100).map(({ text }) => parseLine(text)).filter((record) =>
      record !== null
    );
    const [first] = records;
    const { spool } = this.#settings;
    const name = first === undefined ? "" : `, for example of ${first.productSlug}/${first.metric}`;
    const place = spool === undefined ? "" : `. See ${join(spool, rejectedFile)}`;
    this.#problems.report("rejected", { reason: `${reason}${name}${place}`, count: lines.length, records });
  }

  /** Waits before the next attempt: a random time that grows with each failure, and as long as Gatehouse demands. */
  async #delay({ pauseMs, isOverloaded, reason }: Outcome & { kind: "wait" }): Promise<void> {
    if (this.#isStopped) return;
    this.#problems.report("delayed", { reason, count: this.#queue.count });
    if (isOverloaded) this.#recordsMax = Math.ceil(this.#recordsMax / 2);
    const limitMs = this.#isClosing ? closingPauseMaxMs : pauseMaxMs;
    const backoffMs = Math.random() * Math.min(firstPauseMs * 2 ** this.#failures++, limitMs);
    const until = performance.now() + Math.min(pauseMs, pauseMaxMs);
    await this.#wait(Math.max(backoffMs, pauseMs && until - performance.now()));
    // Closing ends a pause early, but not the one that Gatehouse demands.
    while (performance.now() < until && !this.#isStopped) await this.#wait(until - performance.now());
  }

  /** Waits until a time has passed or {@linkcode #endWait} is called. Keeps the process alive. */
  async #wait(timeMs: number): Promise<void> {
    const ended = newSignal();
    const timer = setTimeout(ended.resolve, timeMs);
    this.#endWait = ended.resolve;
    await ended.promise;
    clearTimeout(timer);
  }

  #announce(): void {
    this.#progress.resolve();
    this.#progress = newSignal();
  }

  async #post(lines: readonly Line[]): Promise<Reply> {
    const { endpoint, credential, timeoutMs, fetch } = this.#settings;
    const request = this.#request = new AbortController();
    const timer = setTimeout(
      () => request.abort(new Error(`no response within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const exchange = async (): Promise<Reply> => {
      const response = await fetch(endpoint, {
        method: "POST",
        headers: { "Authorization": `Bearer ${credential}`, "Content-Type": "application/json" },
        body: `{"records":[${lines.map(({ text }) => text).join(",")}]}`,
        redirect: "manual",
        signal: request.signal,
      });
      return replyOf(response, await readText(response));
    };
    try {
      return await untilAborted(request.signal, exchange());
    } catch (error) {
      const { message, cause } = error instanceof Error ? error : new Error(String(error));
      const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
      return { status: 0, body: undefined, reason, retryAfterMs: 0, serverTime: NaN };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Returns a promise with its resolver. Node.js 20 has no `Promise.withResolvers`. */
function newSignal(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => resolve = done);
  return { promise, resolve };
}

function replyOf(response: Response, text: string): Reply {
  const { status, headers } = response;
  const body = parseObject(text);
  return {
    status,
    body,
    reason: reasonOf(response, body),
    retryAfterMs: retryAfterMs(headers.get("Retry-After")) ?? 0,
    serverTime: Date.parse(headers.get("Date") ?? ""),
  };
}

/** Describes a response that isn't a success, for a log. */
function reasonOf({ status, headers }: Response, body: unknown): string {
  const { error, requestId } = (body ?? {}) as {
    error?: { code?: unknown; message?: unknown };
    requestId?: unknown;
  };
  const hint = status < 500 ? ". Check the option url" : "";
  if (typeof error?.code === "string") {
    return `${status} ${error.code}: ${error.message} (${requestId})${status === 404 ? hint : ""}`;
  }
  const location = headers.get("Location");
  return location === null
    ? `${status} without a response of Gatehouse${hint}`
    : `${status}, a redirect to ${location}${hint}`;
}
