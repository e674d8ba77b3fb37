// Orders from a test to a module that stands in for another one in a running program.

/** A test writes a word into a file with this name in the program's folder. */
export const orderFile = "order.txt";

/** @returns The word, or an empty text. */
export function currentOrder(): string {
  try {
    return Deno.readTextFileSync(orderFile);
  } catch {
    return "";
  }
}
