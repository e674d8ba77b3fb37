// A program that makes a backup while no file descriptor is free, and again afterwards. Arguments: data file, backup.
import { makeBackup, startBackupThread } from "../../services/backups.ts";

const [path = "", file = ""] = Deno.args;
const { signal } = new AbortController();
const thread = { worker: undefined };
const worker = startBackupThread(thread);
// The thread has started once it responds. A missing data file makes this attempt fail.
await makeBackup(`${path}.none`, { file, signal, thread }).catch(() => {});
const held: Deno.FsFile[] = [];
try {
  for (;;) held.push(Deno.openSync(path));
} catch {
  // No file descriptor is left.
}
const crowded = await makeBackup(path, { file, signal, thread }).then(() => "succeeded", () => "failed");
for (const one of held) one.close();
const after = await makeBackup(path, { file, signal, thread }).then(() => "succeeded", String);
worker.terminate();
await Deno.stdout.write(new TextEncoder().encode(`${crowded}, then ${after}`));
