// What a report works with on the reports thread.
import type { Database } from "../../db/engine/database.ts";

/** The same for every report; each has its own. */
export interface ReportContext {
  /** Reads only. */
  readonly database: Database;
  /** Lets other reports have a turn: to be called after each some milliseconds of work. @throws When it was cancelled. */
  turn(): Promise<void>;
  /** Says what the caller must know before the first bytes. */
  head(text: string): void;
  /** Sends bytes and waits until the client has taken them. @throws When it was cancelled. */
  send(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** Every report names its organization and the time at which it was asked for. */
export interface ReportScope {
  readonly organizationId: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const encoder = new TextEncoder();
/** So much is sent at once: larger parts are fewer messages, smaller ones less memory for each client. */
const partCharacters = 64 * 1024;

/** A text that is sent while it is made. */
export class ReportText {
  readonly #context: ReportContext;
  #text = "";

  /** @param context Where it is sent to. */
  constructor(context: ReportContext) {
    this.#context = context;
  }

  /** Adds to the text. Nothing is sent yet. */
  add(text: string): void {
    this.#text += text;
  }

  /** Sends what there is, if it is enough for a part. */
  async flush(): Promise<void> {
    if (this.#text.length >= partCharacters) await this.#context.send(this.rest());
  }

  /** @returns What has not been sent, to be returned by the report. */
  rest(): Uint8Array<ArrayBuffer> {
    const bytes = encoder.encode(this.#text);
    this.#text = "";
    return bytes;
  }
}
