// The meter in a process of its own: how it ends, and what it leaves to the next one. meter_test.ts runs these steps.
import assert from "node:assert/strict";
import { type MeterSteps, type Scene, sizesOf } from "../support/client/meter_scene.ts";
import { recordsIn, segmentsIn } from "../support/client/meter_folder.ts";
import { usageOf } from "../support/client/meter_line.ts";
import { runLines, startCommand } from "../support/runner/guides.ts";
import { poll } from "../support/runner/poll.ts";

const meterUrl = new URL("../../packages/client/src/meter/meter.ts", import.meta.url).href;

/** Writes a program that may create a meter with `options`. @returns The command that runs it in the scene's folder. */
async function programOf({ line, key, folder }: Scene, program: string): Promise<string> {
  const options = JSON.stringify({ url: line.url, apiKey: key, flushIntervalMs: 100 });
  await Deno.writeTextFile(
    `${folder}/program.ts`,
    `import { Meter } from ${JSON.stringify(meterUrl)};
    const options = ${options};
    const tiles = { product: "tiles", metric: "requests" };
    ${program}`,
  );
  return `'${Deno.execPath()}' run --no-check --allow-all --no-config program.ts`;
}

export const processSteps: MeterSteps = {
  async "a process stays until its records are sent, and then ends by itself"(scene) {
    scene.line.disturb = (_, count) => count < 2 ? new Response(null, { status: 503 }) : null;
    const program = 'new Meter({ ...options, spool: "./usage.spool", onProblem() {} }).record(tiles);';
    await runLines(await programOf(scene, program), { cwd: scene.folder });
    assert.deepEqual(sizesOf(scene.line), [[1, 503], [1, 503], [1, 201]]);
  },

  async "a process loses nothing when it is killed in a loop that records"(scene) {
    const { line, newMeter, folder, test, key } = scene;
    const spool = `${folder}/usage.spool`;
    const command = await programOf(
      scene,
      `const meter = new Meter({ ...options, spool: "./usage.spool", onProblem() {} });
      for (let n = 0; ; n++) {
        meter.record({ ...tiles, idempotencyKey: String(n) });
        await Deno.stdout.write(new TextEncoder().encode(n + " "));
        if (n % 100 === 0) await meter.flush({ timeoutMs: 10 });
      }`,
    );
    const child = startCommand(command, { cwd: folder });
    await poll(() => line.batches.some(({ status }) => status === 201));
    await line.cut();
    await poll(() => segmentsIn(spool).some((name) => recordsIn(`${spool}/${name}`).length > 10));
    assert.equal(await child.stop("SIGKILL"), 128 + 9);
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
      const child = startCommand(await programOf(scene, program), { cwd: folder });
      await poll(() => child.output().includes("ready"));
      ends.push(await child.stop("SIGTERM"), line.batches.splice(0).length);
    }
    assert.deepEqual(ends, [128 + 15, 1, 128 + 15, 0], folder);
  },
};
