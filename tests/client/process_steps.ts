// The meter in a process of its own: how it ends, and what it leaves to the next one. meter_test.ts runs these steps.
import assert from "node:assert/strict";
import { type MeterSteps, type Scene, sizesOf } from "../support/client/meter_scene.ts";
import { recordsIn, segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { poll } from "../support/runner/poll.ts";

const meterUrl = new URL("../../packages/client/src/meter/meter.ts", import.meta.url).href;

interface Child {
  readonly output: () => string;
  kill(signal: Deno.Signal): void;
  /** @returns The signal that ended it, or its exit status. */
  ended(): Promise<Deno.Signal | number>;
}

/** Runs a program with a meter in `options`. */
async function startChild({ line, key, folder }: Scene, program: string): Promise<Child> {
  const file = `${folder}/program.ts`;
  const options = JSON.stringify({ url: line.url, apiKey: key, flushIntervalMs: 100 });
  await Deno.writeTextFile(
    file,
    `import { Meter } from ${JSON.stringify(meterUrl)};
    const options = ${options};
    const tiles = { product: "tiles", metric: "requests" };
    ${program}`,
  );
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-all", "--no-config", file],
    cwd: folder,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let output = "";
  const collected = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) output += text;
  })();
  return {
    output: () => output,
    kill: (signal) => child.kill(signal),
    async ended() {
      const { signal, code } = await child.status;
      await collected;
      return signal ?? code;
    },
  };
}

export const processSteps: MeterSteps = {
  async "a process stays until its records are sent, and then ends by itself"(scene) {
    scene.line.disturb = (_, count) => count < 2 ? new Response(null, { status: 503 }) : null;
    const child = await startChild(
      scene,
      `new Meter({ ...options, spool: "./usage.spool", onProblem() {} }).record(tiles);`,
    );
    assert.equal(await child.ended(), 0);
    assert.deepEqual(sizesOf(scene.line), [[1, 503], [1, 503], [1, 201]]);
  },

  async "a process loses nothing when it is killed in a loop that records"(scene) {
    const { line, newMeter, folder, test, key } = scene;
    const spool = `${folder}/usage.spool`;
    const child = await startChild(
      scene,
      `const meter = new Meter({ ...options, spool: "./usage.spool", onProblem() {} });
      for (let n = 0; ; n++) {
        meter.record({ ...tiles, idempotencyKey: String(n) });
        await Deno.stdout.write(new TextEncoder().encode(n + " "));
        if (n % 100 === 0) await meter.flush({ timeoutMs: 10 });
      }`,
    );
    await poll(() => line.batches.some(({ status }) => status === 201));
    await line.cut();
    await poll(() => segmentsIn(spool).some((name) => recordsIn(`${spool}/${name}`).length > 10));
    child.kill("SIGKILL");
    assert.equal(await child.ended(), "SIGKILL");
    line.open();
    const next = newMeter({ spool });
    assert.equal(await next.close(), true);
    assert.deepEqual(segmentsIn(spool), []);
    const [sum = 0] = (await usageOf(test, key))["requests"] ?? [];
    const said = child.output().trim().split(" ").length;
    // The last record may not have been announced.
    assert.ok(sum === said || sum === said + 1, `${sum} of ${said}`);
  },

  async "a process closes on SIGTERM if asked to, and ends as usual"(scene) {
    const { line, folder } = scene;
    const programs = [true, false].map((handleSigterm) =>
      `const meter = new Meter({ ...options, handleSigterm: ${handleSigterm}, flushIntervalMs: 3_600_000 });
      meter.record(tiles);
      console.log("ready");`
    );
    const ends: unknown[] = [];
    for (const program of programs) {
      const child = await startChild(scene, program);
      await poll(() => child.output().includes("ready"));
      child.kill("SIGTERM");
      ends.push(await child.ended(), line.batches.splice(0).length);
    }
    assert.deepEqual(ends, ["SIGTERM", 1, "SIGTERM", 0], folder);
  },
};
