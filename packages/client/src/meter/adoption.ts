// The names of a spool's segments, and which of them have lost their owner.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** Records that Gatehouse rejected. Under another name that ends in .jsonl, they are sent again. */
export const rejectedFile = "rejected.jsonl";

/** An owner may leave a segment untouched for this long. */
const abandonedMs = 10 * 60_000;
const nameForm = /^(\w+)-(\d+)-(\d+)-\w+\.jsonl$/;
const host = hostName() || "host";
/** The names of this process's segments. */
const ownNames = new Set<string>();
const processStartMs = Date.now() - process.uptime() * 1_000;

export function ownedPath(folder: string): string {
  const name = `${host}-${process.pid}-${Date.now()}-${randomBytes(4).toString("hex")}.jsonl`;
  ownNames.add(name);
  return join(folder, name);
}

/** Names a segment that any process may adopt. */
export function releasedPath(folder: string): string {
  return join(folder, `released-${randomBytes(8).toString("hex")}.jsonl`);
}

/** Renames the segments that no process owns, so that this process owns them, and returns their new paths. */
export function* adoptAbandoned(folder: string): Generator<string> {
  for (const name of fs.readdirSync(folder).sort()) {
    const path = join(folder, name);
    try {
      if (
        !name.endsWith(".jsonl") || name === rejectedFile ||
        isOwned(name, fs.lstatSync(path))
      ) continue;
      const newPath = ownedPath(folder);
      fs.renameSync(path, newPath);
      yield newPath;
    } catch {
      // Another process was faster, or the file can't be renamed.
    }
  }
}

function isOwned(name: string, stats: fs.Stats): boolean {
  if (ownNames.has(name) || !stats.isFile()) return true;
  const [, ownerHost, pid, createdMs] = nameForm.exec(name) ?? [];
  if (ownerHost === undefined || Date.now() - stats.mtimeMs > abandonedMs) {
    return false;
  }
  if (ownerHost !== host) return true;
  // Containers often give each process the same id.
  if (Number(pid) === process.pid) return Number(createdMs) >= processStartMs;
  return isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    // Other errors don't tell, such as a missing permission.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** True if a process has ended and its parent hasn't waited for it. False if unknown, as on systems without /proc. */
function isZombie(pid: number): boolean {
  try {
    return /^[ZX]/.test(
      fs.readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1) ?? "",
    );
  } catch {
    return false;
  }
}

function hostName(): string {
  try {
    return hostname().replace(/\W/g, "_");
  } catch {
    // Deno denies access without --allow-sys. Then the age of a segment decides.
    return randomBytes(8).toString("hex");
  }
}
