// The library that hashes passwords is machine code, which the binary unpacks into the temporary folder whenever a thread loads it.
import { messageOf } from "../domain/errors.ts";
import { CommandError, exitStatus } from "./settings.ts";

export const temporaryFolderAdvice = "Set TMPDIR to a folder of your own that isn't mounted with noexec.";

/** Loads what passwords need, before anyone signs in. @throws {CommandError} As `tryNativeCode` says. */
export async function loadNativeCode(): Promise<void> {
  const { fault } = await tryNativeCode();
  if (fault !== null) throw new CommandError(`${fault} ${temporaryFolderAdvice}`, exitStatus.config);
}

/**
 * Loads what passwords need. From then on, the temporary folder is one of this user alone: no one else can replace the
 * file. Repeating it does no harm.
 *
 * @returns The folder, and a sentence if it is someone else's, can't be written to, or forbids programs (`noexec`).
 */
export async function tryNativeCode(): Promise<{ folder: string; fault: string | null }> {
  const parent = (Deno.env.get("TMPDIR") || "/tmp").replace(/\/$/, "");
  const name = `gatehouse-${Deno.uid()}`;
  const folder = parent.endsWith(`/${name}`) ? parent : `${parent}/${name}`;
  try {
    if (Deno.build.standalone) {
      requireOwnFolder(folder);
      Deno.env.set("TMPDIR", folder);
    }
    await import("@node-rs/argon2");
    return { folder, fault: null };
  } catch (error) {
    return {
      folder,
      fault: `can't load the code for passwords from ${folder}: ${messageOf(causeOf(error))}.`,
    };
  }
}

/** Returns why the library didn't load: it also names the builds for other systems, which it lacks. */
function causeOf(error: unknown): unknown {
  const isOther = error instanceof Error && /^Cannot find/.test(error.message);
  return isOther && error.cause instanceof Error ? causeOf(error.cause) : error;
}

function requireOwnFolder(path: string): void {
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  const { isDirectory, uid, mode } = Deno.lstatSync(path);
  if (!isDirectory) throw new Error("it isn't a folder");
  if (uid !== Deno.uid()) throw new Error("it belongs to someone else");
  if (((mode ?? 0) & 0o022) !== 0) throw new Error("others can write to it");
}
