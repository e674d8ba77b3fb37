// The file of `--customers`: CSV with a customer id of the source and an external id on each line.
import { CommandError, exitStatus, readOptionFile } from "../settings.ts";

const cell = /\s*("(?:[^"]|"")*"|[^",]*?)\s*/.source;
const row = new RegExp(`^${cell},${cell}$`);

/** Skips empty rows. @returns External ids by customer id, trimmed. @throws {CommandError} */
export function readCustomers(path: string): Map<string, string> {
  const customers = new Map<string, { externalId: string; line: number }>();
  for (const [index, text] of readOptionFile("customers", path).split("\n").entries()) {
    if (text.replace(",", "").trim() === "") continue;
    const line = index + 1;
    const [id, externalId] = row.exec(text)?.slice(1).map(textOf) ?? [];
    if (!id || !externalId) {
      throw invalid(`line ${line} of ${path} isn't a customer id, a comma and an external id`);
    }
    const former = customers.get(id);
    if (former !== undefined && former.externalId !== externalId) {
      throw invalid(`lines ${former.line} and ${line} of ${path} give “${id}” different external ids`);
    }
    customers.set(id, { externalId, line });
  }
  return new Map([...customers].map(([id, { externalId }]) => [id, externalId]));
}

function invalid(problem: string): CommandError {
  return new CommandError(`--customers: ${problem}`, exitStatus.data);
}

function textOf(cell: string): string {
  return (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell).trim();
}
