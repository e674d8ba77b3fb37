// The state of an instance, for the operator console.

/** The state of the instance that answers. Ages in seconds, times in milliseconds since 1970. */
export interface SystemState {
  readonly version: string;
  readonly deno: string;
  readonly startedAt: number;
  readonly memoryBytes: number;
  /** HTTP threads, and the requests and internal errors of all of them since the start. */
  readonly threads: number;
  readonly requests: number;
  readonly internalErrors: number;
  readonly queue: { readonly records: number; readonly oldestSeconds: number };
  readonly reports: { readonly running: number; readonly waiting: number };
  /** Null on a libSQL server. */
  readonly database: { readonly dataBytes: number; readonly logBytes: number } | null;
  /** Null if it can't be read. `givenUp`: since the start. */
  readonly mail:
    | { readonly waiting: number; readonly oldestSeconds: number; readonly givenUp: number }
    | null;
  /** Null without a schedule. `lastAt`: null for no backup yet. `failures`: since the start. */
  readonly backups:
    | { readonly lastAt: number | null; readonly failures: number; readonly everyHours: number }
    | null;
  /** Null without a continuous backup. `behindSeconds`: null if nothing can be restored. `everySeconds`: how often it copies. */
  readonly stream:
    | { readonly state: string; readonly behindSeconds: number | null; readonly everySeconds: number }
    | null;
}
