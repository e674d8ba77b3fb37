// The curl scripts of docs/metering.md, over a connection that rejects requests, loses responses and breaks: every record
// counts once.
import assert from "node:assert/strict";
import { gatehouseError, metered, type Scene } from "../support/client/meter_scene.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";
import { readGuide, runLines } from "../support/runner/guides.ts";

const block = await readGuide("metering.md");

metered("the guide", {
  "records everything once with its curl scripts, over a bad connection": countsWithCurl,
});

/** The curl scripts count once when they run twice, a batch is rejected, or a response is lost. */
async function countsWithCurl({ line, key, folder: cwd }: Scene): Promise<void> {
  let batches = 0;
  const refusals = [[503, "0"], [429, "1"]] as const;
  line.disturb = (body) => {
    const [status, after = ""] = body.includes('"records"') ? refusals[batches++] ?? [] : [];
    if (status === undefined) return null;
    return gatehouseError(status, "unavailable", { headers: { "Retry-After": after } });
  };
  const proxy = startTcpProxy({ targetPort: Number(new URL(line.url).port) });
  // Of the first batch that is recorded.
  proxy.loseAnswers({ count: 1, answersWith: '"accepted":2' });
  const env = { GATEHOUSE_URL: proxy.url, GATEHOUSE_KEY: key };
  try {
    await runLines(block("curl, one record"), { cwd, env });
    await runLines(block("curl, one record"), { cwd, env });
    assert.equal(JSON.parse(await Deno.readTextFile(`${cwd}/response.json`)).duplicate, true);
    await runLines(block("curl, many records"), { cwd, env });
    assert.equal(await Deno.readTextFile(`${cwd}/response.json`), '{"accepted":0,"duplicates":2}');
    await runLines(block("curl, reading back"), { cwd, env });
    // A rejected request fails the script and prints why.
    const wrongKey = { GATEHOUSE_URL: line.url, GATEHOUSE_KEY: "service_live_x" };
    for (const name of ["curl, one record", "curl, many records", "curl, reading back"]) {
      const refused = runLines(block(name).replaceAll("sums.json", "refused.json"), { cwd, env: wrongKey });
      await assert.rejects(refused, /invalid_api_key/, name);
    }
    const { data } = JSON.parse(await Deno.readTextFile(`${cwd}/sums.json`)) as {
      data: { metric: string; sum: number; count: number }[];
    };
    assert.deepEqual(data.map(({ metric, sum, count }) => [metric, sum, count]), [
      ["exports", 12, 1],
      ["orders", 1, 1],
      ["uploads", 3.5, 1],
    ]);
    assert.equal(proxy.answersToLose, 0);
  } finally {
    await proxy.close();
  }
  const statuses = line.batches.filter(({ records }) => records !== undefined).map(({ status }) => status);
  assert.deepEqual(statuses, [503, 429, 201, 201, 401]);
}
