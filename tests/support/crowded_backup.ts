// A program that makes a backup twice: while no file descriptor is free, and after that. Arguments: data file, backup.
import { makeBackup, startBackupThread } from "../../services/backups.ts";

const [path = "", file = ""] = Deno.args;
const { signal } = new AbortController();
const thread = { worker: undefined };
const worker = startBackupThread(thread);
// The thread is up once it answers; a data file that is missing ends this one.
await makeBackup(`${path}.none`, { file, signal, thread }).catch(() => {});
const held: Deno.FsFile[] = [];
try {
  for (;;) held.push(Deno.openSync(path));
} catch {
  // None is free.
}
const crowded = await makeBackup(path, { file, signal, thread }).then(() => "made", () => "failed");
for (const one of held) one.close();
const after = await makeBackup(path, { file, signal, thread }).then(() => "made", String);
worker.terminate();
await Deno.stdout.write(new TextEncoder().encode(`${crowded}, then ${after}`));
