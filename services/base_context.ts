// The base of all long-lived parts of the program. Time comes from here, so that tests never sleep.
import type { Config } from "../config.ts";
import type { Database } from "../db/engine/database.ts";

/** Constant while the program runs. `clock`: milliseconds since 1970. */
export interface BaseContext {
  readonly config: Config;
  readonly database: Database;
  readonly clock: () => number;
}
