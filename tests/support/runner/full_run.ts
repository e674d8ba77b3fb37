// Remembers for which runtime, packages and database engine all tests passed: tests/full_run.json. A change of them makes a full run
// due, which `.ci/run` then does.
import { hash } from "node:crypto";
import { filesBelow, root } from "../build/sources.ts";

const record = "tests/full_run.json";
const failures = "dist/failed_tests.json";

/** @returns The SHA-256 of the files on which everything depends. */
function fingerprint(): string {
  const files = ["denow", "deno.lock", ...filesBelow("db/engine/").sort()];
  return hash("sha256", files.map((file) => `${file}\n${Deno.readTextFileSync(root + file)}`).join("\n"));
}

/** Notes that all tests passed, none of them skipped. */
export function noteFullRun(seed: string): void {
  const text = JSON.stringify({ "denow, deno.lock and db/engine": fingerprint(), seed }, null, 2);
  Deno.writeTextFileSync(root + record, `${text}\n`);
}

/** The tests that failed in the last full run of all files. */
export interface FailedTests {
  readonly seed: string;
  readonly names: readonly string[];
}

/** Remembers which tests failed, until they pass. */
export function noteFailures(failed: FailedTests): void {
  Deno.mkdirSync(`${root}dist`, { recursive: true });
  Deno.writeTextFileSync(root + failures, JSON.stringify({ ...failed, fingerprint: fingerprint() }));
}

/** @returns Null if none failed, or if what everything depends on has changed since: then all tests must run again. */
export function failedTests(): FailedTests | null {
  try {
    const { fingerprint: former, ...failed } = JSON.parse(Deno.readTextFileSync(root + failures));
    return former === fingerprint() ? failed : null;
  } catch {
    return null;
  }
}

/** True if no full run has passed since they changed. */
export function isFullRunDue(): boolean {
  try {
    return !Deno.readTextFileSync(root + record).includes(fingerprint());
  } catch {
    return true;
  }
}

if (import.meta.main) Deno.exit(isFullRunDue() ? 0 : 1);
