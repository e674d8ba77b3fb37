// A client that collects usage in memory and sends it to Gatehouse in batches. record() never throws.

const batchRecordsMax = 1_000;
const waitingRecordsMax = 100_000;
const requestTimeoutMs = 10_000;
const pauseMaxMs = 60_000;
const retryAfterMaxMs = 60_000;

export interface MeterOptions {
  address: string;
  apiKey: string;
  flushIntervalMs?: number;
  /** Called when usage is delayed or lost. Default: log to standard error. */
  report?: (problem: string) => void;
}

// deno-lint-ignore no-console
const logError = (problem: string): void => console.error(problem);

/** Sends usage to Gatehouse in the background. */
export class Meter {
  #address: string;
  #headers: Record<string, string>;
  #report: (problem: string) => void;
  /** Records as JSON, oldest first. */
  #waiting: string[] = [];
  #lost = { count: 0, reported: 0, why: "" };
  #failures = 0;
  #pausedUntil = 0;
  #sending: Promise<void> | undefined;
  #timer: ReturnType<typeof setInterval>;

  constructor({ address, apiKey, flushIntervalMs = 1_000, report = logError }: MeterOptions) {
    this.#address = `${address}/api/v1/usage`;
    this.#headers = { "Authorization": `Bearer ${apiKey}`, "Content-Type": "application/json" };
    this.#report = report;
    this.#timer = setInterval(() => this.flush(), flushIntervalMs);
  }

  /**
   * Records usage.
   *
   * @param options `id` and `at`: the same pair counts once, no matter how often it is recorded.
   */
  record(
    productSlug: string,
    metric: string,
    options: { quantity?: number; id?: string; at?: Date } = {},
  ): void {
    try {
      if (this.#waiting.length >= waitingRecordsMax) throw new Error("too many unsent records");
      const { quantity = 1, id: idempotencyKey = crypto.randomUUID(), at = new Date() } = options;
      const rounded = Number(quantity.toFixed(6));
      const timestamp = at.toISOString();
      this.#waiting.push(
        JSON.stringify({ productSlug, metric, quantity: rounded, timestamp, idempotencyKey }),
      );
    } catch (error) {
      this.#lose(1, String(error));
    }
  }

  /** Numbers for your own metrics: records that wait to be sent, and records lost since the start. */
  get counts(): { waiting: number; lost: number } {
    return { waiting: this.#waiting.length, lost: this.#lost.count };
  }

  /**
   * Sends waiting records, except during the pause after a failure. Never rejects.
   *
   * @returns Whether everything has been sent.
   */
  async flush(): Promise<boolean> {
    await (this.#sending ??= this.#sendAll().finally(() => this.#sending = undefined));
    this.#reportLost();
    return this.#waiting.length === 0;
  }

  /** Sends what it can before the process ends. The rest is lost and reported. */
  async close(timeoutMs = 10_000): Promise<void> {
    clearInterval(this.#timer);
    const end = performance.now() + timeoutMs;
    while (!(await this.flush()) && performance.now() < end) {
      const waitMs = Math.min(this.#pausedUntil, end) - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(waitMs, 0) + 1));
    }
    this.#lose(this.#waiting.splice(0).length, "the process ended");
    this.#reportLost();
  }

  /** Reads this month's sums by day and metric from Gatehouse. @throws When Gatehouse can't be reached. */
  async sums(): Promise<{ start: string; metric: string; sum: number; count: number }[]> {
    const signal = AbortSignal.timeout(requestTimeoutMs);
    const response = await fetch(`${this.#address}?window=day&groupBy=metric`, {
      headers: this.#headers,
      signal,
    });
    if (!response.ok) throw new Error(`Gatehouse responded ${response.status}: ${await response.text()}`);
    return (await response.json()).data;
  }

  async #sendAll(): Promise<void> {
    let size = batchRecordsMax;
    while (this.#waiting.length > 0 && performance.now() >= this.#pausedUntil) {
      const batch = this.#waiting.slice(0, size);
      const { status, text, retryAfterMs } = await this.#post(`{"records":[${batch.join(",")}]}`);
      if (status >= 200 && status < 300) {
        this.#waiting.splice(0, batch.length);
        this.#failures = 0;
        size = batchRecordsMax;
      } else if (![409, 413, 422].includes(status)) {
        this.#pause(retryAfterMs, `${status} ${text}`);
      } else {
        const bad = new Set(
          [...text.matchAll(/"path":"records\[(\d+)\]/g)].map(([, index]) => Number(index)),
        );
        const kept = batch.length === 1 ? [] : batch.filter((_, index) => !bad.has(index));
        if (kept.length === batch.length) size = Math.ceil(batch.length / 2);
        // Records added in the meantime come after the batch.
        this.#waiting.splice(0, batch.length, ...kept);
        this.#lose(batch.length - kept.length, text);
      }
    }
  }

  async #post(body: string): Promise<{ status: number; text: string; retryAfterMs: number }> {
    try {
      const signal = AbortSignal.timeout(requestTimeoutMs);
      const response = await fetch(`${this.#address}/batch`, {
        method: "POST",
        headers: this.#headers,
        body,
        signal,
      });
      const retryAfterMs = (Number(response.headers.get("Retry-After")) || 0) * 1_000;
      return { status: response.status, text: await response.text(), retryAfterMs };
    } catch (error) {
      return { status: 0, text: String(error), retryAfterMs: 0 };
    }
  }

  #pause(retryAfterMs: number, why: string): void {
    const pauseMs = Math.random() * Math.min(pauseMaxMs, 200 * 2 ** this.#failures++);
    this.#pausedUntil = performance.now() + Math.max(pauseMs, Math.min(retryAfterMs, retryAfterMaxMs));
    this.#notify(`records waiting: ${this.#waiting.length}; ${why}`);
  }

  #lose(count: number, why: string): void {
    if (count === 0) return;
    this.#lost.count += count;
    this.#lost.why = why;
  }

  #reportLost(): void {
    const { count, reported, why } = this.#lost;
    if (count === reported) return;
    this.#lost.reported = count;
    this.#notify(`records lost: ${count - reported}; ${why}`);
  }

  #notify(problem: string): void {
    try {
      this.#report(`usage: ${problem}`.slice(0, 1_000));
    } catch {
      // A failing log must not affect the application.
    }
  }
}
