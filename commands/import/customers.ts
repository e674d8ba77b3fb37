// The file of `--customers`: CSV with a customer id of the source and an external id on each line.
import { messageOf } from "../../domain/errors.ts";
import { CommandError, exitStatus } from "../settings.ts";

const cell = /("(?:[^"]|"")*"|[^",]*)/.source;
const row = new RegExp(`^${cell},${cell}$`);

/** @returns External ids by customer id. @throws {CommandError} */
export function readCustomers(path: string): Map<string, string> {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    throw new CommandError(`--customers: cannot read ${path}: ${messageOf(error)}`, exitStatus.input);
  }
  const customers = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === "") continue;
    const [, id, externalId] = row.exec(line) ?? [];
    if (!id || !externalId) {
      const problem = `line ${index + 1} of ${path} isn't a customer id, a comma and an external id`;
      throw new CommandError(`--customers: ${problem}`, exitStatus.data);
    }
    customers.set(unquoted(id), unquoted(externalId));
  }
  return customers;
}

function unquoted(cell: string): string {
  return cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
}
