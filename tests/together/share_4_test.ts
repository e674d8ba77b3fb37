// A share of the test files that run in one process.
import { defineShare } from "../support/runner/together.ts";

await defineShare(4);
