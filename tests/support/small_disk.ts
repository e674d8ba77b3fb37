// Disks that fill up: a small file system in memory, where mounting is allowed, or a limit on the size of a process's
// files, which Linux always has.

/** A file system of its own. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all room but for so many bytes, in whole pages of 4 KiB. */
  fill(options?: { leaveBytes: number }): void;
  /** Gives the room back. */
  makeRoom(): void;
  /** No process may use it any more. */
  unmount(): void;
}

const pageBytes = 4096;
const page = new Uint8Array(pageBytes);

/** @returns A file system of a size in bytes. @throws When mounting is not allowed. */
export function mountSmallDisk(bytes: number): SmallDisk {
  const folder = Deno.makeTempDirSync({ prefix: "gatehouse-disk-" });
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", folder);
  } catch (error) {
    Deno.removeSync(folder);
    throw error;
  }
  const filler = `${folder}/filler`;
  return {
    folder,
    fill({ leaveBytes } = { leaveBytes: 0 }) {
      using file = Deno.openSync(filler, { create: true, append: true });
      const lines = run("df", "--output=avail", "--block-size=1", folder).trim().split("\n");
      for (let left = Number(lines.at(-1)); left > leaveBytes; left -= pageBytes) file.writeSync(page);
    },
    makeRoom: () => Deno.removeSync(filler),
    unmount() {
      run("umount", folder);
      Deno.removeSync(folder);
    },
  };
}

/** @returns Whether {@linkcode mountSmallDisk} works here. */
export function mayMount(): boolean {
  try {
    mountSmallDisk(pageBytes * 16).unmount();
    return true;
  } catch {
    return false;
  }
}

/** What {@linkcode limitFileSize} needs of a program: without it the system ends a process that meets the limit. */
export const throughFileSizeLimit = ["sh", "-c", 'trap "" XFSZ; exec "$@"', "sh"] as const;

/** @param bytes From now on no file of the process grows beyond this; `"unlimited"`: every file may. */
export function limitFileSize(pid: number, bytes: number | "unlimited"): void {
  run("prlimit", "--pid", String(pid), `--fsize=${bytes}:unlimited`);
}

function run(command: string, ...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command(command, { args, stdin: "null" }).outputSync();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
