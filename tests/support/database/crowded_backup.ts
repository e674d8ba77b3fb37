// A program that makes a backup while no file descriptor is free, and again afterwards. Arguments: data file, backup.
import { makeBackup } from "../../../services/backups.ts";

const [path = "", file = ""] = Deno.args;
const { signal } = new AbortController();
const held: Deno.FsFile[] = [];
try {
  for (;;) held.push(Deno.openSync(path));
} catch {
  // No file descriptor is left.
}
const crowded = await makeBackup(path, { file, signal }).then(() => "succeeded", () => "failed");
for (const one of held) one.close();
const after = await makeBackup(path, { file, signal }).then(() => "succeeded", String);
await Deno.stdout.write(new TextEncoder().encode(`${crowded}, then ${after}`));
