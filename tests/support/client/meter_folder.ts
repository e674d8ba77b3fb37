// The files in the spool of a meter.

/** A process id that is never in use. */
export const deadPid = 2 ** 22 + 1;

export function segmentsIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

/** @returns The lines of a folder's files, also unfinished ones. */
export function linesIn(folder: string): string[] {
  const texts = segmentsIn(folder).map((name) => Deno.readTextFileSync(`${folder}/${name}`));
  return texts.join("").split("\n").filter((line) => line !== "");
}

/** Renames the segments of this process to those of one that is gone. */
export async function orphan(folder: string): Promise<void> {
  for (const name of segmentsIn(folder)) {
    await Deno.rename(`${folder}/${name}`, `${folder}/${name.replace(`-${Deno.pid}-`, `-${deadPid}-`)}`);
  }
}

/**
 * Copies the spool of this process as the process leaves it if it is killed now. What its meter still does there stays in the
 * original. @returns The path of the copy.
 */
export function copyOfKilled(folder: string, copy: string): string {
  Deno.mkdirSync(copy, { mode: 0o700 });
  for (const name of segmentsIn(folder)) {
    Deno.copyFileSync(`${folder}/${name}`, `${copy}/${name.replace(`-${Deno.pid}-`, `-${deadPid}-`)}`);
  }
  return copy;
}

/** @returns The records of a file, or none. */
export function recordsIn(path: string): { idempotencyKey: string }[] {
  try {
    const lines = Deno.readTextFileSync(path).split("\n");
    return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** @returns A line as an earlier process left it, with its key as its metric. @param more Other fields. */
export function leftLine(key: string, more: Readonly<Record<string, unknown>> = {}): string {
  const record = { productSlug: "tiles", metric: key, quantity: 1, timestamp: new Date() };
  return `${JSON.stringify({ ...record, idempotencyKey: key, ...more })}\n`;
}
