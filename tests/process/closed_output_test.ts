// Commands whose output is cut, as by head.
import assert from "node:assert/strict";
import { programCommand } from "../support/process/program.ts";
import { inScene } from "../support/process/scene.ts";

Deno.test("openapi ends quietly when the reader of its output has read enough", () =>
  inScene({}, async ({ options }) => {
    const child = programCommand({ ...options, args: ["openapi"] }, { stdin: "null" }).spawn();
    await child.stdout.cancel();
    const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
    assert.deepEqual([code, stderr], [0, ""]);
  }));
