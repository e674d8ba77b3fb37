// Reads a stream line by line in constant memory.
import { Buffer } from "node:buffer";
import { usageBodyBytesMax } from "../../domain/limits.ts";

export interface Line {
  /** Starts at 1. */
  readonly number: number;
  /** Position of its first byte, and of the byte after its line end. */
  readonly start: number;
  readonly end: number;
  /** Without the line end. Null if it isn't UTF-8 or longer than a request may be. */
  readonly text: string | null;
}

const newline = 10;

/**
 * @param at The position of the stream's first byte in its file, and the number of the line before.
 * @yields The lines of each chunk.
 */
export async function* readLines(
  stream: AsyncIterable<Uint8Array>,
  at: { readonly offset: number; readonly line: number },
): AsyncGenerator<Line[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let { offset: start, line: number } = at;
  let parts: Uint8Array[] = [];
  let length = 0;
  const keep = (part: Uint8Array) => {
    length += part.length;
    // The rest of a line that is too long is only counted.
    if (length <= usageBodyBytesMax) parts.push(part.slice());
    else parts = [];
  };
  const finish = (end: number): Line => {
    const text = length > usageBodyBytesMax ? null : textOf(decoder, parts);
    const line = { number: ++number, start, end, text };
    [start, parts, length] = [end, [], 0];
    return line;
  };
  for await (const chunk of stream) {
    const lines: Line[] = [];
    let from = 0;
    for (let to = chunk.indexOf(newline); to !== -1; to = chunk.indexOf(newline, from)) {
      keep(chunk.subarray(from, to));
      lines.push(finish(start + length + 1));
      from = to + 1;
    }
    keep(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  if (length > 0) yield [finish(start + length)];
}

function textOf(decoder: TextDecoder, parts: readonly Uint8Array[]): string | null {
  try {
    return decoder.decode(Buffer.concat(parts)).replace(/\r$/, "");
  } catch {
    return null;
  }
}
