// `gatehouse --version`. With --json, also the commit that the program was built from, and the versions of what runs it.
import { embeddedSqliteVersion } from "../db/engine/diagnostics.ts";
import { usageError } from "./settings.ts";
import { writeLine } from "./terminal.ts";

/** `tests/support/build/compile.ts` writes it, and the binary embeds it. */
const buildFile = "build.json";

export async function versionCommand(args: readonly string[], version: string): Promise<number> {
  if (args.length === 0) return writeLine(`gatehouse ${version}`);
  if (args.length > 1 || args[0] !== "--json") throw usageError("--version takes no option except --json.");
  return writeLine(JSON.stringify({
    version,
    commit: await readCommit(),
    deno: Deno.version.deno,
    engine: { name: "sqlite", version: embeddedSqliteVersion() },
  }));
}

/** Returns null for a program that runs from source, or that was built outside a repository. */
async function readCommit(): Promise<string | null> {
  if (!Deno.build.standalone) return null;
  return JSON.parse(await Deno.readTextFile(new URL(`../dist/${buildFile}`, import.meta.url))).commit;
}
