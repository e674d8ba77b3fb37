// Folders for the data files of tests: in memory where possible, because each commit waits for a disk.
import { statfsSync } from "node:fs";

/** Linux has files in memory here. `./denow task test` sets a folder in it, which it removes after the tests. */
const memory = Deno.env.get("TEST_MEMORY_FOLDER") ?? "/dev/shm";
/** Containers may give it less, in bytes. */
const freeMin = 2 ** 30;

/**
 * Creates a folder. The program can't use it, because Deno allows access to `/dev` only with all permissions.
 *
 * @param prefix What its name begins with.
 */
export async function makeMemoryFolder(prefix: string): Promise<string> {
  return await Deno.makeTempDir(hasMemory() ? { dir: memory, prefix } : { prefix });
}

function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= freeMin;
  } catch {
    return false;
  }
}
