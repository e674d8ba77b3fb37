// Sends the lines of closed statements to a billing system, each exactly once: also if the event comes twice, if this program is
// killed at any moment, and if the billing system forgets idempotency keys after a day.
//
//   WEBHOOK_SECRET=whsec_… OPERATOR_TOKEN=… GATEHOUSE_URL=https://auth.example.com BILLING_URL=https://… \
//     deno run --allow-net --allow-env --allow-read --allow-write billing.ts 8004 billing.db

import { DatabaseSync } from "node:sqlite";
import { verifyWebhook, WebhookError } from "../../packages/client/src/index.ts";

/** A line as Gatehouse returns it. An adjustment corrects an earlier month by the difference, which can be negative. */
interface Line {
  readonly id: string;
  readonly externalId: string | null;
  readonly organizationId: string;
  readonly productSlug: string;
  readonly metric: string;
  readonly quantity: string;
}

interface Options {
  readonly gatehouseUrl: string;
  /** With the scope `statements:read`. */
  readonly token: string;
  /** Takes `{"identifier", "customer", "metric", "quantity"}`, and ignores an identifier that it has seen in the last day. */
  readonly billingUrl: string;
  /** A file that outlives the program: without it, nothing would be known about lines older than a day. */
  readonly journal: string;
  readonly clock?: () => number;
  /** Logs failures, and lines to check by hand. */
  readonly log: (text: string) => void;
}

/** Less than a day, so that the billing system surely remembers a line that is sent again. */
const rememberedMs = 23 * 3_600_000;

/** The journal of what was sent. A line is noted before it is sent, and again when the billing system has it. */
export class Billing {
  readonly #options: Options;
  readonly #journal: DatabaseSync;
  #work = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
    this.#journal = new DatabaseSync(options.journal);
    this.#journal.exec(`
      PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS statements (id TEXT PRIMARY KEY, is_sent INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE IF NOT EXISTS lines (id TEXT PRIMARY KEY, sending_at INTEGER NOT NULL, is_sent INTEGER NOT NULL DEFAULT 0);`);
  }

  /** Notes a statement. Gatehouse may be told that it arrived: {@linkcode sendAll} sends it, now or after a restart. */
  note(statementId: string): void {
    this.#journal.prepare("INSERT OR IGNORE INTO statements (id) VALUES (?)").run(statementId);
  }

  /** Sends the lines of all noted statements. A failure is logged, and the next call retries it. Calls wait for each other. */
  sendAll(): Promise<void> {
    return this.#work = this.#work.then(() => this.#sendNoted());
  }

  /** Returns the ids of lines that may or may not have been charged. Check them by hand. */
  uncertain(): string[] {
    const now = (this.#options.clock ?? Date.now)();
    const rows = this.#journal.prepare("SELECT id FROM lines WHERE is_sent = 0 AND sending_at <= ?")
      .all(now - rememberedMs);
    return rows.map(({ id }) => String(id));
  }

  close(): void {
    this.#journal.close();
  }

  async #sendNoted(): Promise<void> {
    const waiting = this.#journal.prepare("SELECT id FROM statements WHERE is_sent = 0 ORDER BY id").all();
    for (const { id } of waiting) {
      try {
        for await (const line of this.#lines(String(id))) await this.#send(line);
        this.#journal.prepare("UPDATE statements SET is_sent = 1 WHERE id = ?").run(String(id));
      } catch (error) {
        this.#options.log(`Statement ${id} wasn't sent completely: ${error}`);
      }
    }
  }

  async *#lines(statementId: string): AsyncGenerator<Line> {
    const { gatehouseUrl, token } = this.#options;
    let cursor: string | null = "";
    while (cursor !== null) {
      const query = new URLSearchParams({ limit: "100", ...(cursor !== "" && { cursor }) });
      const response = await fetch(`${gatehouseUrl}/api/operator/statements/${statementId}?${query}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`Gatehouse responded with ${response.status}`);
      }
      const page: { statement: { status: string }; lines: Line[]; nextCursor: string | null } = await response
        .json();
      if (page.statement.status !== "closed") throw new Error("the statement isn't closed yet");
      yield* page.lines;
      cursor = page.nextCursor;
    }
  }

  async #send(line: Line): Promise<void> {
    const now = (this.#options.clock ?? Date.now)();
    this.#journal.prepare("INSERT OR IGNORE INTO lines (id, sending_at) VALUES (?, ?)").run(line.id, now);
    const noted = this.#journal.prepare("SELECT sending_at AS at, is_sent AS isSent FROM lines WHERE id = ?")
      .get(line.id);
    if (noted?.["isSent"] === 1) return;
    if (now - Number(noted?.["at"]) >= rememberedMs) {
      this.#options.log(`Check line ${line.id} by hand: it may have been charged more than a day ago.`);
      return;
    }
    const response = await fetch(this.#options.billingUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        identifier: line.id,
        customer: line.externalId ?? line.organizationId,
        metric: `${line.productSlug}/${line.metric}`,
        quantity: line.quantity,
      }),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the billing system responded with ${response.status}`);
    this.#journal.prepare("UPDATE lines SET is_sent = 1 WHERE id = ?").run(line.id);
  }
}

/** Returns a handler of Gatehouse's requests, which responds once the statement is noted. */
export function billingHandler(
  billing: Billing,
  { secret, clock = Date.now }: { secret: string; clock?: () => number },
): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const { type, data } = await verifyWebhook(await request.text(), {
        headers: request.headers,
        secret,
        now: clock(),
      });
      const { statement, test } = data as { statement: { id: string }; test?: true };
      // The statement of a test doesn't exist.
      if (type === "statement.closed" && !test) billing.note(statement.id);
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return new Response(error.message, { status: 400 });
    }
    billing.sendAll();
    return new Response(null, { status: 204 });
  };
}

/** Returns an environment variable, or exits. */
function setting(name: string): string {
  const value = Deno.env.get(name);
  if (value) return value;
  // deno-lint-ignore no-console
  console.error(`Set ${name}.`);
  Deno.exit(1);
}

if (import.meta.main) {
  const [port = "8004", journal = "billing.db"] = Deno.args;
  const secret = setting("WEBHOOK_SECRET");
  const billing = new Billing({
    gatehouseUrl: setting("GATEHOUSE_URL"),
    token: setting("OPERATOR_TOKEN"),
    billingUrl: setting("BILLING_URL"),
    journal,
    // deno-lint-ignore no-console
    log: console.error,
  });
  // Retries failures, also those of an earlier run.
  setInterval(() => billing.sendAll(), 60_000);
  billing.sendAll();
  Deno.serve(
    { port: Number(port), hostname: "127.0.0.1" },
    billingHandler(billing, { secret }),
  );
}
