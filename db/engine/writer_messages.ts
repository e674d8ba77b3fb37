// The messages between the writer and the other threads. They are flat lists: copying nested objects into another thread costs
// several times as much.
import type { DatabaseErrorKind, Statement, WriteResult } from "./database.ts";

/** A batch: for each statement its text, the number of its arguments, and these. */
export type BatchMessage = readonly Statement["args"][number][];

/** Encodes the batches of a port. Texts that were sent before are sent as numbers: copying them would cost more than all the rest. */
export class BatchEncoder {
  readonly #numbers = new Map<string, number>();

  /** @param batch Its values must be ones that can be sent. Otherwise later numbers would be wrong. */
  encode(batch: readonly Statement[]): BatchMessage {
    const message: BatchMessage[number][] = [];
    for (const { sql, args } of batch) {
      const number = this.#numbers.get(sql);
      if (number !== undefined) message.push(number);
      else {
        this.#numbers.set(sql, this.#numbers.size);
        message.push(sql);
      }
      message.push(args.length, ...args);
    }
    return message;
  }
}

/** Decodes what a {@linkcode BatchEncoder} encoded, in the same order. */
export class BatchDecoder {
  readonly #texts: string[] = [];

  decode(message: BatchMessage): Statement[] {
    const batch: Statement[] = [];
    for (let at = 0; at < message.length;) {
      let text = message[at++] as string | number;
      if (typeof text === "string") text = this.#texts.push(text) - 1;
      const end = at + 1 + Number(message[at]);
      batch.push({ sql: this.#texts[text] as string, args: message.slice(at + 1, end) });
      at = end;
    }
    return batch;
  }
}

export type WriteOutcome =
  | { readonly type: "written"; readonly results: readonly WriteResult[] }
  | { readonly type: "failed"; readonly kind: DatabaseErrorKind; readonly message: string };

/**
 * The outcomes of the oldest batches of a port, in order: each with the number of its results (-1 for a failure), and for each
 * result its changes, the number of its rows, and these.
 */
export type OutcomesMessage = readonly (number | string | WriteResult["rows"][number])[];

const failed = -1;

export function encodeOutcomes(outcomes: readonly WriteOutcome[]): OutcomesMessage {
  const message: OutcomesMessage[number][] = [];
  for (const outcome of outcomes) {
    if (outcome.type === "failed") message.push(failed, outcome.kind, outcome.message);
    else {
      message.push(outcome.results.length);
      for (const { changes, rows } of outcome.results) {
        message.push(changes, rows.length);
        for (const row of rows) message.push(row);
      }
    }
  }
  return message;
}

export function decodeOutcomes(message: OutcomesMessage): WriteOutcome[] {
  const outcomes: WriteOutcome[] = [];
  for (let at = 0; at < message.length;) {
    const count = message[at++] as number;
    if (count === failed) {
      const [kind, text] = message.slice(at, at += 2) as [DatabaseErrorKind, string];
      outcomes.push({ type: "failed", kind, message: text });
      continue;
    }
    const results: WriteResult[] = [];
    while (results.length < count) {
      const [changes, rows] = [message[at] as number, message[at + 1] as number];
      at += 2;
      results.push({ changes, rows: message.slice(at, at += rows) as WriteResult["rows"][number][] });
    }
    outcomes.push({ type: "written", results });
  }
  return outcomes;
}
