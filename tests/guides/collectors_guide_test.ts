// docs/collectors.md: its commands run in order against the real program.
import assert from "node:assert/strict";
import { onServer } from "../support/process/scene.ts";
import { installGatehouse, readGuide, runLines } from "../support/runner/guides.ts";

const block = await readGuide("collectors.md");

Deno.test("the guide adds a preset and a mapping, creates a token, and tries an event", () =>
  onServer({}, async ({ folder }) => {
    const bin = await installGatehouse(folder);
    const env = { PATH: `${bin}:${Deno.env.get("PATH")}` };
    const run = (name: string) => runLines(block(name), { cwd: folder, env });
    assert.match(await run("connect"), /^map_[0-9a-f]{32}\nservice_operator_\w+\n$/);
    const { subject, records } = JSON.parse(await run("mapping"));
    assert.equal(subject, "customer-1");
    assert.deepEqual(
      records.map(({ metric, quantity }: { metric: string; quantity: number }) => [metric, quantity]),
      [["images", 2], ["cents", 9]],
    );
  }));
