// The command line: runs the command with the given name. The only place that reads Deno.args and calls Deno.exit.
import { runCommand } from "./commands/run.ts";

if (import.meta.main) Deno.exit(await runCommand(Deno.args));
