// A small file that says how far an import of a file has come, so that it continues there after a kill. Where it is out of date,
// records are sent again, which changes nothing.
import { hash } from "node:crypto";
import { removeIfExists } from "../../db/engine/data_file.ts";
import { messageOf } from "../../domain/errors.ts";
import { CommandError, exitStatus, usageError } from "../settings.ts";
import type { Position } from "./batches.ts";

/** The counts of an import up to a position. */
export interface ImportProgress extends Position {
  readonly accepted: number;
  readonly duplicates: number;
  readonly invalid: number;
}

export const noProgress: ImportProgress = {
  ...{ offset: 0, line: 0, leftOut: 0 },
  ...{ accepted: 0, duplicates: 0, invalid: 0 },
};

interface Stored extends ImportProgress {
  /** SHA-256 of the options and, for `before`, of the bytes before the position. */
  readonly options: string;
  readonly before: string;
}

const checkedBytes = 4096;

export class ProgressFile {
  readonly #path: string;
  readonly #imported: string;
  readonly #options: string;

  /** @param more `imported`: the imported file. `options`: those that decide what its lines become. */
  constructor(path: string, more: { imported: string; options: unknown }) {
    this.#path = path;
    this.#imported = more.imported;
    this.#options = hash("sha256", JSON.stringify(more.options));
  }

  /** Returns null if nothing was imported before. @throws {CommandError} If it belongs to another import. */
  read(): ImportProgress | null {
    let stored: Stored;
    try {
      stored = JSON.parse(Deno.readTextFileSync(this.#path));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw this.#error(error);
    }
    const { options, before, ...progress } = stored;
    if (options === this.#options && before === this.#before(progress.offset)) return progress;
    const problem = options === this.#options ? "another file" : "other options";
    throw usageError(
      `${this.#path} is the progress with ${problem}. Delete it to import the file from its start.`,
    );
  }

  write(progress: ImportProgress): void {
    const stored: Stored = { ...progress, options: this.#options, before: this.#before(progress.offset) };
    try {
      removeIfExists(`${this.#path}.new`);
      Deno.writeTextFileSync(`${this.#path}.new`, JSON.stringify(stored), { createNew: true, mode: 0o600 });
      Deno.renameSync(`${this.#path}.new`, this.#path);
    } catch (error) {
      throw this.#error(error);
    }
  }

  remove(): void {
    try {
      removeIfExists(this.#path);
    } catch (error) {
      throw this.#error(error);
    }
  }

  #before(offset: number): string {
    const start = Math.max(0, offset - checkedBytes);
    const bytes = new Uint8Array(offset - start);
    using file = Deno.openSync(this.#imported, { read: true });
    file.seekSync(start, Deno.SeekMode.Start);
    for (let at = 0; at < bytes.length;) {
      const read = file.readSync(bytes.subarray(at));
      if (read === null) break;
      at += read;
    }
    return hash("sha256", bytes);
  }

  #error(error: unknown): CommandError {
    const remedy = "Name a file that can be written with --progress";
    return new CommandError(`${this.#path}: ${messageOf(error)}. ${remedy}`, exitStatus.io);
  }
}
