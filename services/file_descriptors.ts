// The file descriptors of this process: every connection, file and thread needs some.
import { unavailableError } from "../domain/errors.ts";
import { descriptorsForThreadMin } from "../domain/limits.ts";

const folder = "/proc/self/fd";

/** Returns null where the system doesn't say. */
export function countFileDescriptors(): number | null {
  try {
    // Linux before 6.2 reports a size of 0.
    return Deno.statSync(folder).size || [...Deno.readDirSync(folder)].length;
  } catch {
    return null;
  }
}

/** True if this many can be opened. */
export function areDescriptorsFree(count: number): boolean {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < count) opened.push(Deno.openSync("/dev/null"));
    return true;
  } catch (error) {
    return !isOutOfDescriptors(error);
  } finally {
    for (const file of opened) file.close();
  }
}

/** Call this before starting a thread: without free descriptors, Deno would abort. @throws {AppError} `unavailable`. */
export function requireDescriptorsForThread(): void {
  if (areDescriptorsFree(descriptorsForThreadMin)) return;
  throw unavailableError("Too many connections are open. Try again in a moment.");
}

/** A socket. The next file may get its descriptor, but no other socket gets its link, such as `socket:[59186]`. */
export interface Socket {
  readonly descriptor: string;
  readonly link: string;
}

/** Returns all sockets; none where the system doesn't say. @throws Without a free descriptor to read them. */
export function findSockets(): Socket[] {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder)];
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error;
    return [];
  }
  return entries.map(({ name }) => ({ descriptor: name, link: readLink(name) }))
    .filter(({ link }) => link.startsWith("socket:"));
}

export function isOpenSocket({ descriptor, link }: Socket): boolean {
  return readLink(descriptor) === link;
}

function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE");
}

function readLink(descriptor: string): string {
  try {
    return Deno.readLinkSync(`${folder}/${descriptor}`);
  } catch {
    return "";
  }
}
