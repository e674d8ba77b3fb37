// A program that dies while it takes steps: at some writes its process is killed, and started again on the same data.
import type { SendOptions, TestApp } from "../app/app.ts";
import { root } from "../build/sources.ts";
import { isFull } from "../runner/extent.ts";
import type { Random } from "../runner/random.ts";
import type { BudgetProgram } from "./budget_scene.ts";

/** How likely it dies at a request that may write. Each time, it takes seconds to start again. */
const deathChance = isFull ? 0.4 : 0.15;
/** How many writes later the process dies, at most: a request has one or two. */
const writesMax = 2;

export class DyingProgram implements BudgetProgram {
  /** How often it died. */
  deaths = 0;
  #now: number;
  #running: Promise<{ child: Deno.ChildProcess; address: string }> | undefined;

  private constructor(
    readonly place: string,
    readonly random: Random,
    { now }: { now: number },
  ) {
    this.#now = now;
  }

  /** @param place A data file or the address of a server. */
  static start(place: string, { random, now }: { random: Random; now: number }): DyingProgram {
    return new DyingProgram(place, random, { now });
  }

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  /** Sends a request, and sends it again if the process died. */
  readonly send: TestApp["send"] = async (
    path,
    { method, json, apiKey = "" }: SendOptions = {},
  ) => {
    const body = json === undefined ? null : JSON.stringify(json);
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...body !== null && { "content-type": "application/json" },
    };
    const init = { method: method ?? (body === null ? "GET" : "POST"), headers, body };
    for (;;) {
      const response = await this.#sendOnce(path, init);
      if (response !== null) return response;
    }
  };

  async work(name: string): Promise<void> {
    await this.send(`/background/${encodeURIComponent(name)}`, { method: "POST" });
  }

  /** Null if the process died. */
  async #sendOnce(
    path: string,
    { headers, ...init }: { method: string; headers: Record<string, string>; body: string | null },
  ): Promise<Response | null> {
    const { child, address } = await (this.#running ??= this.#run());
    const dies = init.method !== "GET" && this.random.chance(deathChance)
      ? { writes: this.random.between(1, writesMax), isCommitted: this.random.chance(0.5) }
      : null;
    const own = { "x-now": String(this.#now), ...dies !== null && { "x-die": JSON.stringify(dies) } };
    try {
      const response = await fetch(address + path, { ...init, headers: { ...headers, ...own } });
      return new Response(await response.text(), response);
    } catch {
      const { signal } = await child.status;
      if (signal !== "SIGKILL") throw new Error(`the program ended with ${signal}`);
      this.deaths++;
      this.#running = undefined;
      return null;
    }
  }

  async #run() {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--no-check", "--no-prompt", "-A", `--config=${root}deno.json`],
        ...[`${root}tests/support/meter/dying_app.ts`, this.place, String(this.#now)],
      ],
      // The mark lets the runner find it if a test leaves it behind.
      env: { NO_COLOR: "1", TEST_RUN: Deno.env.get("TEST_RUN") ?? "" },
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value: line } = await lines.read();
    if (line === undefined) throw new Error("the program didn't start");
    return { child, address: line.trim() };
  }

  async stop(): Promise<void> {
    const running = await this.#running;
    if (running === undefined) return;
    running.child.kill("SIGKILL");
    await running.child.status;
  }
}
