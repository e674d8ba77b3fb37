// docs/budgets.md: its commands run in order against the real program.
import assert from "node:assert/strict";
import { installGatehouse, readGuide, runLines } from "../support/runner/guides.ts";
import { onServer } from "../support/process/scene.ts";
import { isMissing } from "../support/runner/needs.ts";

const block = await readGuide("budgets.md");

Deno.test({
  name: "the guide gives a user 2.00 dollars, and 300 parallel requests spend exactly that",
  ignore: isMissing("curl"),
  fn: () =>
    onServer({}, async ({ folder, baseUrl }) => {
      const bin = await installGatehouse(folder);
      const env = { GATEHOUSE: baseUrl, PATH: `${bin}:${Deno.env.get("PATH")}` };
      const run = (lines: string) => runLines(lines, { cwd: folder, env });
      const [token = ""] = (await run(`${block("product")}\necho "\n$TOKEN"`)).trim().split("\n")
        .toReversed();
      const withToken = (lines: string) => run(`TOKEN=${token}\n${lines}`);
      const created = await withToken(block("customer"));
      const { apiKey, fullKey } = JSON.parse(created.slice(created.indexOf("}{") + 1));
      const { apiKey: { budget } } = JSON.parse(await withToken(`KEY_ID=${apiKey.id}\n${block("budget")}`));
      assert.deepEqual([budget[0].quantity, budget[0].per, budget[0].mode], [2, "total", "hard"]);
      const counts = await run(`KEY=${fullKey}\n${block("requests")}`);
      assert.match(counts, /^ *200 201\n *100 429\n$/);
      const { limits: [limit] } = JSON.parse(await run(`KEY=${fullKey}\n${block("limits")}`));
      assert.deepEqual([limit.used, limit.remaining], [2, 0]);
    }),
});
