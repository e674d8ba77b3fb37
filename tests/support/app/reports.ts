// A job context for tests that run jobs on their own thread.
import { type JobReader, membersOf } from "../../../services/reports/job_reader.ts";
import type { JobContext } from "../../../services/reports/job_context.ts";

/** A context without a database. Pauses end immediately, and nothing is sent. */
export const noJobContext: Omit<JobContext, "database"> = {
  pause: () => Promise.resolve(),
  send: () => Promise.resolve(),
};

/** Someone who reads in tests. */
export const testReader: JobReader = membersOf("org_test");
