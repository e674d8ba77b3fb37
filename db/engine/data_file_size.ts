// The size of the embedded database on disk.
import type { DatabaseTarget } from "../../config.ts";

/** Sizes in bytes; the log is SQLite's write-ahead log, 0 where there is none. */
export interface DataFileSize {
  readonly dataBytes: number;
  readonly logBytes: number;
}

/** @returns The sizes, or null for a database that is not a file here. */
export async function dataFileSize(target: DatabaseTarget): Promise<DataFileSize | null> {
  if (target.kind !== "file") return null;
  const [data, log] = await Promise.all([target.path, `${target.path}-wal`].map(async (path) => {
    try {
      return (await Deno.stat(path)).size;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return 0;
      throw error;
    }
  }));
  return { dataBytes: data ?? 0, logBytes: log ?? 0 };
}
