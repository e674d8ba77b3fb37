// A program that commits to a data file beside a server.
import { Connection } from "../../../db/engine/connection.ts";
import { thisRoot } from "./program.ts";

/** Creates the table that guests write to. */
export function createGuestRows(path: string): void {
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  connection.exec("CREATE TABLE guest_rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT");
  connection.close();
}

/** Commits in its own process. @returns Ends it, and returns how many rows it has inserted. */
export function startGuest(path: string): () => Promise<number> {
  const program = new URL("../database/guest_program.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", "--cached-only", `--config=${thisRoot}deno.json`, "--allow-all"],
      ...[program, path],
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  return async () => {
    const output = new Response(child.stdout).text();
    await child.stdin.close();
    return Number(await output);
  };
}
