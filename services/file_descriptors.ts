// The file descriptors of this process: every connection, file and thread needs some.
import { unavailableError } from "../domain/errors.ts";
import { descriptorsForThreadMin } from "../domain/limits.ts";

/** @returns How many are open; null where the system doesn't say. */
export function countFileDescriptors(): number | null {
  const folder = "/proc/self/fd";
  try {
    // Linux before 6.2 reports a size of 0.
    return Deno.statSync(folder).size || [...Deno.readDirSync(folder)].length;
  } catch {
    return null;
  }
}

/**
 * To be called right before a thread starts while clients are connected: Deno aborts the process when a thread starts without free
 * descriptors.
 *
 * @throws {AppError} `unavailable` when too few are free.
 */
export function requireDescriptorsForThread(): void {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < descriptorsForThreadMin) opened.push(Deno.openSync("/dev/null"));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code === "EMFILE" || code === "ENFILE") {
      throw unavailableError("Too many connections are open. Try again in a moment.");
    }
  } finally {
    for (const file of opened) file.close();
  }
}
