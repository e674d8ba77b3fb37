// Simulates full disks: with a small in-memory file system where mounting is allowed, or else with a limit on the size
// of a process's files.

/** A small file system. */
export interface SmallDisk {
  readonly folder: string;
  /** Fills the disk in 4 KiB pages, except for the given number of bytes. */
  fill(options?: { leaveBytes: number }): void;
  /** Frees the space again. */
  makeRoom(): void;
  /** Unmounts it. No process may still be using it. */
  unmount(): void;
}

const pageBytes = 4096;
const page = new Uint8Array(pageBytes);

/** Mounts a file system of the given size. @throws When mounting isn't allowed. */
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
      try {
        for (let left = Number(lines.at(-1)); left > leaveBytes; left -= pageBytes) file.writeSync(page);
      } catch (error) {
        // A server that wrote meanwhile has left less than was counted: the disk is full.
        if ((error as { code?: string }).code !== "ENOSPC") throw error;
      }
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

/** Wrapper command required by {@linkcode limitFileSize}. Without it, the system kills a process that hits the limit. */
export const throughFileSizeLimit = ["sh", "-c", 'trap "" XFSZ; exec "$@"', "sh"] as const;

/** Limits the size to which files of a process can grow. @param bytes The limit, or `"unlimited"` to lift it. */
export function limitFileSize(pid: number, bytes: number | "unlimited"): void {
  run("prlimit", "--pid", String(pid), `--fsize=${bytes}:unlimited`);
}

function run(command: string, ...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command(command, { args, stdin: "null" }).outputSync();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
