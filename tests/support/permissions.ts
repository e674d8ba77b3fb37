// What the program may do, as narrow as Deno's flags can say before DATABASE_URL is known: the binary and the tests of the
// real program run with exactly this. The native database driver is not bound by it (docs/decisions/0026).
import { settings } from "../../config.ts";

/**
 * Names of the environment that can be read: those that begin as a setting does, so that a misspelt one is noticed, too.
 * All others, such as another program's credentials, read as unset.
 */
function environmentNames(): string[] {
  const whole = ["PORT", "HOST", "API_KEY_REQUESTS_*"];
  const first = Object.keys(settings).filter((name) => name.includes("_") && !name.startsWith("API_"))
    .map((name) => `${name.split("_")[0]}*`);
  return [...new Set([...whole, ...first, "GATEHOUSE_*"])];
}

/** What packages ask the system for: mail its host's name and addresses, `gatehouse check` the user and the free space. */
const systemCalls = ["hostname", "networkInterfaces", "cpus", "uid", "statfs"];

/** Flags of `deno run` and `deno compile`. */
export const permissionFlags: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  `--allow-env=${environmentNames().join(",")}`,
  "--ignore-env",
  "--allow-ffi",
  `--allow-sys=${systemCalls.join(",")}`,
  // See Connection.close() in db/engine/connection.ts.
  "--v8-flags=--expose-gc",
];
