// The program's Deno permissions, as narrow as they can be before DATABASE_URL is known. The binary and the tests of the
// real program run with exactly these.
import { settings } from "../../../config.ts";

/**
 * Patterns of readable environment variables. They match the prefixes of all settings, so that misspelled ones are noticed.
 * Other variables, such as another program's credentials, read as unset.
 */
function environmentNames(): string[] {
  const patterns = Object.keys(settings).map((name) => {
    const [first = "", ...rest] = name.split("_");
    // HTTP_* would match HTTP_PROXY, and API_* the credentials of others.
    const own = ["HTTP_THREAD*", "API_KEY_REQUESTS_*"].find((pattern) =>
      name.startsWith(pattern.slice(0, -1))
    );
    return own ?? (rest.length === 0 ? first : `${first}*`);
  });
  return [...new Set([...patterns, "GATEHOUSE_*", "TMPDIR"])];
}

/**
 * System information: memory for the number of HTTP threads, user and free space for `gatehouse check`, and what packages need
 * (host name and addresses for email).
 */
const systemCalls = ["hostname", "networkInterfaces", "cpus", "uid", "statfs", "systemMemoryInfo"];

/**
 * Bounds the heap of each thread, because V8 would otherwise let garbage grow to several times what is in use
 * (docs/decisions/0066). The tasks of deno.json have the same flags.
 */
export const heapFlags: readonly string[] = [
  "--max-old-space-size=160",
  "--max-semi-space-size=4",
  "--heap-growing-percent=100",
];

/** Flags of `deno run` and `deno compile`. */
export const permissionFlags: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  `--allow-env=${environmentNames().join(",")}`,
  "--ignore-env",
  "--allow-ffi",
  `--allow-sys=${systemCalls.join(",")}`,
  `--v8-flags=${heapFlags.join(",")}`,
];
