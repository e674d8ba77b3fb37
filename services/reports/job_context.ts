// What the jobs of the reports thread work with.
import type { Database } from "../../db/engine/database.ts";

export interface JobContext {
  /** Read-only. */
  readonly database: Database;
  /** Lets other jobs run; to be called after some milliseconds of work. @throws When the job was canceled. */
  pause(): Promise<void>;
  /** Sends bytes and waits until the client has taken them. @throws When the job was canceled. */
  send(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** After this many milliseconds of work, other jobs run. */
const sliceMs = 5;

/** Returns a function to call after each short piece of work, which lets other jobs run after some milliseconds. */
export function pauseAfterSlices({ pause }: Pick<JobContext, "pause">): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since <= sliceMs) return;
    await pause();
    since = performance.now();
  };
}

export interface JobTime {
  readonly now: number;
}

export interface JobScope extends JobTime {
  readonly organizationId: string;
}

const encoder = new TextEncoder();
/** The size of one message. Larger ones mean fewer messages, smaller ones less memory per client. */
const partCharacters = 64 * 1024;

/** A text that is sent while it is written. */
export class JobText {
  readonly #context: JobContext;
  #text = "";

  constructor(context: JobContext) {
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

  /** Returns the rest of the text: the result of the job. */
  takeBytes(): Uint8Array<ArrayBuffer> {
    const bytes = encoder.encode(this.#text);
    this.#text = "";
    return bytes;
  }
}
