// `gatehouse mapping …` with the real program, alongside a running server.
import assert from "node:assert/strict";
import { runHere } from "../support/process/here.ts";
import { onServer } from "../support/process/scene.ts";

Deno.test("mappings are added, listed, tried and deleted alongside a running server", async () => {
  await onServer({ env: { LOG_LEVEL: "warning" } }, async ({ folder, baseUrl, options }) => {
    const settings = { ...options, env: { PORT: new URL(baseUrl).port } };
    const gatehouse = async (...args: readonly string[]) => {
      const { status, stdout, stderr } = await runHere(settings, "mapping", ...args);
      return [status, stdout.trim(), stderr.replace(/^Database: .*\n/, "").trim()] as const;
    };
    const write = (name: string, value: unknown) => {
      const path = `${folder}/${name}`;
      Deno.writeTextFileSync(path, JSON.stringify(value));
      return path;
    };

    const [status, id, note] = await gatehouse("add", "--preset", "litellm");
    assert.deepEqual([status, note], [0, "Added “LiteLLM”."]);
    assert.match(id, /^map_[0-9a-f]{32}$/);
    assert.match((await gatehouse("add", "--preset", "litellm"))[2], /Another mapping is for events/);
    assert.equal((await gatehouse("add", "--preset", "litellm"))[0], 65);
    assert.deepEqual((await gatehouse("add"))[0], 64);
    assert.deepEqual((await gatehouse("add", "--preset", "other"))[0], 64);
    const wrong = write("wrong.json", { name: "A", type: "a", metrics: [{ metric: "m" }] });
    const [code, , fault] = await gatehouse("add", "--file", wrong);
    assert.equal(code, 65);
    assert.match(fault, /--file: metrics\[0\]\.productSlug is required\./);
    const other = write("other.json", {
      name: "Calls",
      type: "call",
      metrics: [{ productSlug: "models", metric: "calls", path: "count" }],
    });
    assert.equal((await gatehouse("add", "--file", other))[0], 0);
    const lines = (await gatehouse("list", "--json"))[1].split("\n").map((line) => JSON.parse(line).name);
    assert.deepEqual(lines, ["LiteLLM", "Calls"]);
    assert.match((await gatehouse("list"))[1], /^ID .*\nmap_\w+ {2}litellm_tokens {2}litellm-proxy /);
    const event = write("event.json", {
      specversion: "1.0",
      type: "litellm_tokens",
      source: "litellm-proxy",
      id: "1",
      subject: "user-1",
      data: { model: "small", prompt_tokens: 10, completion_tokens: 5, cost: 0.0000123 },
    });
    const tried = JSON.parse((await gatehouse("try", id, "--event", event))[1]);
    assert.deepEqual(
      [tried.subject, ...tried.records.map(({ quantity }: { quantity: number }) => quantity)],
      ["user-1", 10, 5, 12.3],
    );
    assert.equal((await gatehouse("try", id, "--event", `${folder}/none.json`))[0], 66);
    assert.match((await gatehouse("delete", id))[1], /^Deleted “LiteLLM”/);
    assert.deepEqual((await gatehouse("delete", id)).slice(0, 1), [65]);
  });
});
