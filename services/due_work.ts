// Tells background work when there is some, so that an idle server asks its database one question a second. Work at fixed times asks
// by itself.
import { type DueKind, dueKinds, findDue } from "../db/due_work.ts";
import { checkWritable } from "../db/engine/diagnostics.ts";
import { dueWorkIntervalMs } from "../domain/limits.ts";
import type { Services } from "./services.ts";
import { sleep } from "./sleep.ts";

export class DueWork {
  readonly #services: Pick<Services, "database" | "clock" | "webhooks">;
  readonly #intervalMs: number;
  readonly #found = new Map(dueKinds.map((kind) => [kind, new AbortController()]));

  constructor(services: Pick<Services, "database" | "clock" | "webhooks">, intervalMs = dueWorkIntervalMs) {
    this.#services = services;
    this.#intervalMs = intervalMs;
  }

  /** Returns a signal that ends when there is work of a kind, or the database doesn't respond. Get it before the step that may find none. */
  signalOf(kind: DueKind): AbortSignal {
    const found = new AbortController();
    this.#found.set(kind, found);
    return found.signal;
  }

  /** Looks for due work until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { database, clock, webhooks } = this.#services;
    while (!signal.aborted) {
      // The workers themselves report errors of the database.
      const { kinds, isReadOnly } = await findDue(database, clock())
        .catch(() => ({ kinds: dueKinds, isReadOnly: false }));
      // The error ends the program, even if it has nothing else to write.
      if (isReadOnly) await checkWritable(database).catch(() => {});
      for (const kind of kinds) this.#found.get(kind)?.abort();
      if (kinds.includes("webhooks")) webhooks.wake();
      await sleep(this.#intervalMs, signal);
    }
  }
}
