// The messages to and from the reports thread.
import type { DatabaseSource } from "../../db/engine/database.ts";
import type { SentError } from "../sent_errors.ts";
import type { JobReader } from "./job_reader.ts";
import type { JobInput, JobName } from "./job_list.ts";

/** Messages from the main thread: first `open`, then the port of each thread that wants jobs, then `close`. */
export type ReportsThreadRequest =
  | { readonly type: "open"; readonly source: DatabaseSource }
  | { readonly type: "connect"; readonly port: MessagePort }
  | { readonly type: "close" };

export interface ReportsThreadResponse {
  readonly type: "closed";
}

/** Messages from a thread on its port. Ids are its own. */
export type ReportsRequest =
  | {
    readonly type: "job";
    readonly id: number;
    readonly name: JobName;
    readonly input: JobInput<JobName>;
    readonly reader: JobReader;
  }
  /** The client has taken a part and can take another one, or it is gone. */
  | { readonly type: "more" | "cancel"; readonly id: number }
  /** `drain`: the program stops, and only work is started. `close`: the thread needs no more jobs. */
  | { readonly type: "drain" | "close" };

/** Messages to it. A job ends with `done` or `failed`. */
export type ReportsResponse =
  | { readonly type: "closed" }
  | { readonly type: "started"; readonly id: number }
  /** Another part follows after `more`. */
  | { readonly type: "part"; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  /** `value`: the result of the job; the last bytes, if it sends bytes. */
  | { readonly type: "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: SentError };
