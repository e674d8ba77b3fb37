// Finds and ends what a run of the tests leaves behind: processes and folders.
import { makeMemoryFolder } from "../database/memory_folder.ts";

/** Folders of one run. All files of the tests are below them. */
export class RunFolder {
  readonly path: string;
  readonly #memory: string;

  private constructor(path: string, memory: string) {
    this.path = path;
    this.#memory = memory;
    Deno.mkdirSync(`${path}/tmp`);
    // Some tests run programs of other users.
    for (const folder of [path, memory]) Deno.chmodSync(folder, 0o755);
  }

  static async create(): Promise<RunFolder> {
    const prefix = "gatehouse-tests-";
    return new RunFolder(await Deno.makeTempDir({ prefix }), await makeMemoryFolder(prefix));
  }

  /** In the environment of every process of the run. */
  get mark(): string {
    return `TEST_RUN=${this.path}`;
  }

  get env(): Record<string, string> {
    return {
      TEST_RUN: this.path,
      TMPDIR: `${this.path}/tmp`,
      TEST_MEMORY_FOLDER: this.#memory,
      TEST_MISSING: `${this.path}/missing`,
    };
  }

  /** @returns The names of what tests missed, one a line. */
  missing(): string {
    try {
      return Deno.readTextFileSync(`${this.path}/missing`);
    } catch {
      return "";
    }
  }

  /** @returns What tests left in the folders, without reserved ports. */
  leftFiles(): string[] {
    return [`${this.path}/tmp`, this.#memory].flatMap((folder) =>
      [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
        !name.startsWith("gatehouse-test-ports")
      )
    );
  }

  remove(): void {
    for (const folder of [this.path, this.#memory]) Deno.removeSync(folder, { recursive: true });
  }
}

/** Ends processes of a run, on Linux. @param mark A variable of their environment. @returns Their commands. */
export function endProcesses(mark: string): string[] {
  if (Deno.build.os !== "linux") return [];
  return [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) return [];
    try {
      if (!Deno.readTextFileSync(`/proc/${name}/environ`).split("\0").includes(mark)) return [];
      const command = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
      Deno.kill(Number(name), "SIGKILL");
      return [command];
    } catch {
      // It has ended, or belongs to someone else.
      return [];
    }
  });
}

/** @returns The CPU time of this process and all that it waited for, on Linux. */
export async function cpuSeconds(): Promise<number> {
  const stat = await Deno.readTextFile("/proc/self/stat").catch(() => "");
  // The fields after the name, in hundredths of a second: utime, stime, cutime and cstime are 14 to 17 of all.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / 100;
}
