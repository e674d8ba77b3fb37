// The README's tour: its commands run unchanged and in order against a new server.
import assert from "node:assert/strict";
import { onServer, stop } from "./support/process/scene.ts";

Deno.test("the README's tour works unchanged", () =>
  onServer({ env: { BASE_URL: "http://localhost:8000" } }, async ({ folder: cwd, program, baseUrl }) => {
    const readme = await Deno.readTextFile(new URL("../README.md", import.meta.url));
    const tour = /## A tour with curl\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? "";
    const blocks = [...tour.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, lines = ""]) => lines);
    assert.equal(blocks.length, 8);
    // Port 8000 may be in use: curl connects to the server's own port, and the commands stay unchanged.
    const port = new URL(baseUrl).port;
    const script = [
      `curl() { command curl --fail-with-body --connect-to localhost:8000:127.0.0.1:${port} "$@"; }`,
      ...blocks.map((block) => `${block}\necho; echo ---`),
    ].join("\n");
    const { success, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-e", "-c", script],
      cwd,
      stdin: "null",
    }).output();
    const output = new TextDecoder().decode(stdout);
    assert(success, output + new TextDecoder().decode(stderr));
    const [signUp, me, key, single, batch, event, read, listed] = output.split("---\n").map((part) =>
      part.trim()
    );
    assert.equal(JSON.parse(signUp ?? "").role, "OWNER");
    assert.deepEqual(JSON.parse(me ?? ""), JSON.parse(signUp ?? ""));
    assert.equal(key, "");
    assert.equal(JSON.parse(single ?? "").usageRecord.idempotencyKey, "order-4711");
    assert.deepEqual(JSON.parse(batch ?? ""), { accepted: 2, duplicates: 0 });
    assert.equal(JSON.parse(event ?? "").usageRecord.quantity, 512);
    const { data } = JSON.parse(read ?? "");
    assert.deepEqual(
      data.map(({ productSlug, metric, sum }: Record<string, unknown>) => [productSlug, metric, sum]),
      [["search", "requests", 1], ["tiles", "bytes", 512], ["tiles", "requests", 3.5]],
    );
    assert.equal(JSON.parse(listed ?? "").usageRecords.length, 1);
    await stop(program);
  }));
