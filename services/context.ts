// What every verb may use. Time comes from here, so that tests never sleep.
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";

/** The same for the whole life of the program. */
export interface ServiceContext {
  readonly config: Config;
  readonly database: Database;
  /** @returns Milliseconds since 1970. */
  readonly clock: () => number;
}
