// Reads the processor time of a server's threads from /proc (Linux). Other programs on the machine change how many requests
// a second a server answers, but hardly how much processor time it needs for one.
import type { LoadRequest } from "./lua.ts";

/** Processor time in microseconds, by kind of thread. */
export interface CpuTime {
  /** Threads that read requests and send responses. */
  readonly http: number;
  /** Other threads of the program: the writer, the reports thread, the hashing thread. */
  readonly workers: number;
  /** V8's helpers, such as those of its garbage collector, and the runtime's own threads. */
  readonly runtime: number;
}

interface Thread {
  readonly name: string;
  readonly microseconds: number;
}

/** Share of the busiest thread's time from which a thread counts as one of those that serve HTTP. */
const servingShare = 0.1;

/** Measures one server. */
export class CpuMeter {
  readonly #pid: number;
  readonly #http: ReadonlySet<string>;
  #before = new Map<string, Thread>();

  private constructor(pid: number, http: ReadonlySet<string>) {
    this.#pid = pid;
    this.#http = http;
  }

  /**
   * Finds out which threads serve HTTP: those that work while the server answers requests that need nothing else.
   *
   * @param load Sends a request many times over many connections.
   */
  static async create(
    { pid, origin }: { pid: number; origin: string },
    load: (request: LoadRequest) => Promise<unknown>,
  ): Promise<CpuMeter> {
    const before = await readThreads(pid);
    await load({ method: "GET", url: `${origin}/health/live`, headers: {} });
    const used = [...await readThreads(pid)].map(([id, { name, microseconds }]) => ({
      id,
      isJavaScript: id === String(pid) || name.startsWith("worker-"),
      microseconds: microseconds - (before.get(id)?.microseconds ?? 0),
    }));
    const most = Math.max(...used.map(({ microseconds }) => microseconds));
    const http = used.filter(({ isJavaScript, microseconds }) =>
      isJavaScript && microseconds >= most * servingShare
    );
    return new CpuMeter(pid, new Set(http.map(({ id }) => id)));
  }

  /** Number of threads that serve HTTP. */
  get httpThreads(): number {
    return this.#http.size;
  }

  /** Starts to measure. */
  async begin(): Promise<void> {
    this.#before = await readThreads(this.#pid);
  }

  /** @returns The processor time since {@linkcode begin}. */
  async end(): Promise<CpuTime> {
    const time = { http: 0, workers: 0, runtime: 0 };
    for (const [id, { name, microseconds }] of await readThreads(this.#pid)) {
      const kind = this.#http.has(id) ? "http" : name.startsWith("worker-") ? "workers" : "runtime";
      time[kind] += microseconds - (this.#before.get(id)?.microseconds ?? 0);
    }
    return time;
  }
}

/** @returns The sum of all kinds. */
export function totalOf({ http, workers, runtime }: CpuTime): number {
  return http + workers + runtime;
}

/** @returns The processor time of a program so far, in milliseconds, without threads that have ended. */
export async function processorMs(pid: number): Promise<number> {
  const threads = [...(await readThreads(pid)).values()];
  return threads.reduce((sum, { microseconds }) => sum + microseconds, 0) / 1000;
}

/** @returns The threads of a process by id. Deno names its workers `worker-1`, `worker-2` and so on. */
async function readThreads(pid: number): Promise<Map<string, Thread>> {
  const threads = new Map<string, Thread>();
  const folder = `/proc/${pid}/task`;
  for await (const { name: id } of Deno.readDir(folder)) {
    try {
      const [nanoseconds = ""] = (await Deno.readTextFile(`${folder}/${id}/schedstat`)).split(" ");
      const name = (await Deno.readTextFile(`${folder}/${id}/comm`)).trim();
      threads.set(id, { name, microseconds: Number(nanoseconds) / 1_000 });
    } catch (error) {
      // The thread has ended.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return threads;
}
