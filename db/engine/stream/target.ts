// Where continuous backups go: a folder or an S3-compatible store.
import { dirname, join, relative, resolve } from "node:path";
import type { StreamTarget } from "../../../domain/stream_settings.ts";
import { moveIntoPlace, syncFolder } from "../backup.ts";
import { S3Target } from "./s3.ts";

export interface StoredObject {
  readonly name: string;
  readonly bytes: number;
}

/** Objects by name. Errors are of the network or the file system. */
export interface Target {
  /** Resolves when the object is stored durably. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Returns null if there is none. `ageMs`: since it was written, by the clock of the target. */
  get(name: string): Promise<{ bytes: Uint8Array; ageMs: number } | null>;
  /** Lists the objects whose names begin so, sorted. @param options `after`: only those whose names sort after it. */
  list(prefix: string, options?: { after?: string }): Promise<StoredObject[]>;
  /** Succeeds if there is none. */
  remove(name: string): Promise<void>;
}

export function openTarget(target: StreamTarget): Target {
  return target.kind === "folder" ? new FolderTarget(target.folder) : new S3Target(target);
}

class FolderTarget implements Target {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    // A target that isn't mounted must not be created.
    await Deno.stat(this.#folder);
    const path = join(this.#folder, name);
    await this.#makeFolder(dirname(path));
    const temporary = `${path}.part`;
    try {
      using file = await Deno.open(temporary, { write: true, create: true, truncate: true, mode: 0o600 });
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.syncData();
    } catch (error) {
      await this.remove(`${name}.part`).catch(() => {});
      throw error;
    }
    moveIntoPlace(temporary, path);
  }

  /** Makes a folder in the target, and syncs its name. */
  async #makeFolder(folder: string): Promise<void> {
    if (folder === this.#folder) return;
    await this.#makeFolder(dirname(folder));
    try {
      await Deno.mkdir(folder, { mode: 0o700 });
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) return;
      throw error;
    }
    syncFolder(dirname(folder));
  }

  async get(name: string): Promise<{ bytes: Uint8Array; ageMs: number } | null> {
    try {
      const path = join(this.#folder, name);
      const [bytes, { mtime }] = await Promise.all([Deno.readFile(path), Deno.stat(path)]);
      return { bytes, ageMs: Date.now() - (mtime?.getTime() ?? 0) };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw error;
    }
  }

  async list(prefix: string, { after = "" }: { after?: string } = {}): Promise<StoredObject[]> {
    await Deno.stat(this.#folder);
    const found: StoredObject[] = [];
    const walk = async (folder: string) => {
      try {
        for await (const { name, isDirectory } of Deno.readDir(folder)) {
          const path = join(folder, name);
          const relativeName = relative(this.#folder, path).replaceAll("\\", "/");
          if (isDirectory) await walk(path);
          else if (relativeName.startsWith(prefix) && relativeName > after) {
            found.push({ name: relativeName, bytes: (await Deno.stat(path)).size });
          }
        }
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    };
    await walk(join(this.#folder, prefix.slice(0, prefix.lastIndexOf("/") + 1)));
    return found.sort((one, other) => one.name < other.name ? -1 : 1);
  }

  async remove(name: string): Promise<void> {
    const path = join(this.#folder, name);
    await Deno.remove(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    // Fails while there are other objects in it.
    if (name.includes("/")) await Deno.remove(dirname(path)).catch(() => {});
  }
}
