// What reports use on the reports thread.
import type { Database } from "../../db/engine/database.ts";

/** Each report has one of its own. */
export interface ReportContext {
  /** Reads only. */
  readonly database: Database;
  /** Lets other reports run; to be called after some milliseconds of work. @throws When the report was canceled. */
  pause(): Promise<void>;
  /** Sends what the caller must know before the first bytes. */
  head(text: string): void;
  /** Sends bytes and waits until the client has taken them. @throws When the report was canceled. */
  send(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** After this many milliseconds of work, other reports run. */
const sliceMs = 5;

/** @returns A function to be called after each short piece of work: it pauses when there was enough of it. */
export function pauseAfterSlices({ pause }: Pick<ReportContext, "pause">): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since <= sliceMs) return;
    await pause();
    since = performance.now();
  };
}

/** The time of the request for a report. Reports for operators have nothing more in common. */
export interface OperatorReportScope {
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Every other report has an organization too. */
export interface ReportScope extends OperatorReportScope {
  readonly organizationId: string;
}

const encoder = new TextEncoder();
/** The size of one message. Larger ones mean fewer messages, smaller ones less memory per client. */
const partCharacters = 64 * 1024;

/** A text that is sent while it is written. */
export class ReportText {
  readonly #context: ReportContext;
  #text = "";

  /** @param context Sends it. */
  constructor(context: ReportContext) {
    this.#context = context;
  }

  /** Adds to the text without sending it. */
  add(text: string): void {
    this.#text += text;
  }

  /** Sends the text so far, if it is enough for a part. */
  async flush(): Promise<void> {
    if (this.#text.length >= partCharacters) await this.#context.send(this.takeBytes());
  }

  /** @returns What was not sent yet: the result of the report. */
  takeBytes(): Uint8Array<ArrayBuffer> {
    const bytes = encoder.encode(this.#text);
    this.#text = "";
    return bytes;
  }
}
