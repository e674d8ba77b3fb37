// An import of usage: reads the lines of a file, and counts them or sends them.
import { AppError, messageOf } from "../../domain/errors.ts";
import { countOf } from "../../domain/number_text.ts";
import { importFaultsListedMax } from "../../domain/transfer_limits.ts";
import { parseJson } from "../../routes/body.ts";
import {
  type ImportedRecord,
  type ImportMapping,
  readImported,
} from "../../routes/meter/schemas/imported_usage.ts";
import { ProgressLine } from "../progress.ts";
import { CommandError, exitStatus, usageError } from "../settings.ts";
import { writeLine } from "../terminal.ts";
import { Batch, type Position } from "./batches.ts";
import { DryRun } from "./dry_run.ts";
import { type Line, readLines } from "./lines.ts";
import type { OperatorApi } from "./operator_api.ts";
import { type ImportProgress, noProgress, ProgressFile } from "./progress_file.ts";

interface Input {
  readonly name: string;
  /** Undefined for standard input. */
  readonly file: Deno.FsFile | undefined;
  readonly bytes: number;
  readonly progressLine: ProgressLine;
}

export interface ImportOptions {
  readonly mapping: ImportMapping;
  readonly input: Input;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly skipsInvalid: boolean;
  readonly progressPath: string;
  /** Called with the last line that an earlier run has imported. */
  readonly onContinue?: (line: number) => void;
}

/** @param name A file, or `-` for standard input. @throws {CommandError} */
export function openInput(name: string): Input {
  const progressLine = new ProgressLine();
  if (name === "-") {
    if (Deno.stdin.isTerminal()) throw usageError("standard input is a terminal.");
    return { name, file: undefined, bytes: NaN, progressLine };
  }
  try {
    const file = Deno.openSync(name, { read: true });
    return { name, file, bytes: file.statSync().size, progressLine };
  } catch (error) {
    throw unreadable(name, error);
  }
}

/** Counts what would be recorded, without recording it. */
export async function rehearseImport(
  options: ImportOptions,
): Promise<{ counted: DryRun; faults: Faults; leftOut: number }> {
  const counted = new DryRun();
  const faults = new Faults();
  let position: Position = noProgress;
  for await (const { line, record, fault } of readRecords(options, position)) {
    if (fault !== null) faults.add(line.number, fault);
    else if (record !== null) counted.add(record);
    position = after(line, position, { record, fault });
  }
  return { counted, faults, leftOut: position.leftOut };
}

/**
 * Sends the records of a file, from where an earlier run has stopped.
 *
 * @returns The counts of this and earlier runs, and the lines that this one has skipped.
 * @throws {CommandError} With the first line that can't be imported, unless such lines are skipped. Those before it are imported.
 */
export async function runImport(
  api: OperatorApi,
  options: ImportOptions,
): Promise<{ total: ImportProgress; faults: Faults }> {
  const { input, skipsInvalid, mapping } = options;
  // Standard input can't be continued.
  const progressFile = input.file && new ProgressFile(options.progressPath, {
    imported: input.name,
    options: [api.url, mapping.source, mapping.product, mapping.properties, ...mapping.quantityProperties],
  });
  const begun = progressFile?.read() ?? noProgress;
  let { accepted, duplicates, invalid: _, ...position } = begun;
  if (position.line > 0) options.onContinue?.(position.line);
  const faults = new Faults();
  const batch = new Batch(api);
  const total = (at: Position): ImportProgress => ({
    ...at,
    ...{ accepted, duplicates, invalid: begun.invalid + (skipsInvalid ? faults.count : 0) },
  });
  const send = async () => {
    const sent = await batch.send({ skipsInvalid });
    accepted += sent.accepted;
    duplicates += sent.duplicates;
    for (const { before, message } of sent.rejected) faults.add(before.line + 1, message);
    const [stop] = skipsInvalid ? [] : sent.rejected;
    progressFile?.write(total(stop?.before ?? position));
    if (stop !== undefined) throw lineError(stop.before.line + 1, stop.message);
  };
  for await (const { line, record, fault } of readRecords(options, position)) {
    if (fault !== null && !skipsInvalid) {
      await send();
      throw lineError(line.number, fault);
    }
    if (fault !== null) faults.add(line.number, fault);
    else if (record !== null && !batch.add(position, record)) {
      await send();
      batch.add(position, record);
    }
    position = after(line, position, { record, fault });
  }
  await send();
  progressFile?.remove();
  return { total: total(position), faults };
}

/** The result of a line: a record, nothing (empty or left out), or why it can't be imported. */
interface ReadLine {
  readonly record: ImportedRecord | null;
  readonly fault: string | null;
}

async function* readRecords(
  { mapping, input, now }: ImportOptions,
  from: Pick<Position, "offset" | "line">,
): AsyncGenerator<ReadLine & { line: Line }> {
  input.file?.seekSync(from.offset, Deno.SeekMode.Start);
  for await (const lines of readLines(chunksOf(input), from)) {
    for (const line of lines) {
      yield { line, ...readLine(line, { mapping, now }) };
      input.progressLine.show(() => {
        const part = Math.floor(100 * line.end / input.bytes);
        return countOf(line.number, "line") + (Number.isNaN(part) ? "" : ` (${part}%)`);
      });
    }
  }
}

const chunkBytes = 256 * 1024;

async function* chunksOf({ name, file }: Input): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(chunkBytes);
  const source = file ?? Deno.stdin;
  const read = () => source.read(buffer).catch((error) => Promise.reject(unreadable(name, error)));
  for (let length = await read(); length !== null; length = await read()) {
    yield buffer.subarray(0, length);
  }
}

function unreadable(name: string, error: unknown): CommandError {
  return new CommandError(`cannot read ${name}: ${messageOf(error)}`, exitStatus.input);
}

function readLine({ text }: Line, options: { mapping: ImportMapping; now: number }): ReadLine {
  if (text === null) return { record: null, fault: "The line is longer than 1 MiB or not UTF-8." };
  if (text.trim() === "") return { record: null, fault: null };
  try {
    return { record: readImported(parseJson(text), options), fault: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const [detail] = error.details ?? [];
    const message = detail === undefined
      ? error.message.replace("The body", "The line")
      : detail.path === ""
      ? `The line ${detail.message}`
      : `“${detail.path}”: ${detail.message}`;
    return { record: null, fault: message };
  }
}

function after(line: Line, { leftOut }: Position, { record, fault }: ReadLine): Position {
  const isLeftOut = record === null && fault === null && line.text?.trim() !== "";
  return { offset: line.end, line: line.number, leftOut: leftOut + (isLeftOut ? 1 : 0) };
}

function lineError(line: number, message: string): CommandError {
  const problem = `line ${line}: ${message} Fix it and run the command again, or add --skip-invalid.`;
  return new CommandError(problem, exitStatus.data);
}

/** Faults by line: the first ones, and how many there are. */
export class Faults {
  count = 0;
  readonly lines: string[] = [];

  add(line: number, message: string): void {
    this.count++;
    if (this.lines.length < importFaultsListedMax) this.lines.push(`line ${line}: ${message}`);
  }

  print(): void {
    if (this.count === 0) return;
    const more = this.count - this.lines.length;
    const rest = more === 0 ? [] : [`and ${countOf(more, "more line")}`];
    writeLine([...this.lines, ...rest].join("\n"), "stderr");
  }
}
