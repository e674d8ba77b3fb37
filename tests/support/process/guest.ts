// A program that commits to a data file beside a server.
import { Connection } from "../../../db/engine/connection.ts";
import { thisRoot } from "./program.ts";

/** Creates the table that guests write to. */
export function createGuestRows(path: string): void {
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  connection.exec("CREATE TABLE guest_rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT");
  connection.close();
}

/**
 * Commits in its own process.
 *
 * @param options `opens`: the file, once or for each commit, as its last connection if no one else has it open. `pauseMs`: after
 *   each commit.
 * @returns Ends it, and returns the markers of the rows that it has inserted, and when each was committed.
 */
export function startGuest(
  path: string,
  { opens = "once", pauseMs = 0 }: { opens?: "once" | "each"; pauseMs?: number } = {},
): () => Promise<Map<string, number>> {
  const program = new URL("../database/guest_program.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", "--cached-only", `--config=${thisRoot}deno.json`, "--allow-all"],
      ...[program, path, opens, String(pauseMs)],
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  return async () => {
    const output = new Response(child.stdout).text();
    await child.stdin.close();
    return new Map(JSON.parse(await output) as [string, number][]);
  };
}
