// docs/quick-start.md and the examples of docs/metering.md in several languages: each language does the same.
import assert from "node:assert/strict";
import { createTestKey, startTestApp } from "../support/app/app.ts";
import { readGuide, runLines } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { freePort } from "../support/database/sqld.ts";

const quickStart = await readGuide("quick-start.md");
const metering = await readGuide("metering.md");

const name = "examples record with curl, TypeScript and Python, count once, and read the same sums";
Deno.test({ name, ignore: isMissing("python3-requests") }, async () => {
  const port = freePort();
  const here = `http://localhost:${port}`;
  const test = await startTestApp({ PORT: String(port), BASE_URL: here });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-languages-" });
  try {
    const { fullKey } = await createTestKey(test, await test.signUp());
    const options = { cwd: folder, env: { GATEHOUSE_KEY: fullKey, NO_COLOR: "1" } };
    const ours = (code: string) => code.replaceAll("https://auth.example.com", here);
    const runAll = async (guide: typeof metering, names: readonly string[]) => {
      const [sh = "", ts = "", py = ""] = names.map(guide);
      await Deno.writeTextFile(`${folder}/example.ts`, ours(ts));
      await Deno.writeTextFile(`${folder}/example.py`, ours(py));
      const deno = `'${Deno.execPath()}' run --no-check --allow-net --allow-env example.ts`;
      return [
        await runLines(ours(sh), options),
        await runLines(deno, options),
        await runLines("python3 example.py", options),
      ];
    };

    const recorded = await runAll(quickStart, [
      "record with curl",
      "record with TypeScript",
      "record with Python",
    ]);
    const ids = recorded.map((text) => /use_[0-9a-f]+/.exec(text)?.[0]);
    assert.ok(ids[0] !== undefined, recorded.join("\n"));
    assert.equal(new Set(ids).size, 1, recorded.join("\n"));
    const read = await runAll(quickStart, ["read with curl", "read with TypeScript", "read with Python"]);
    for (const text of read) assert.match(text, /["']?sum["']?: ?1\b/);

    const batches = await runAll(metering, ["batch with curl", "batch with TypeScript", "batch with Python"]);
    assert.match(batches[0] ?? "", /"accepted":2,"duplicates":0/);
    for (const text of batches.slice(1)) assert.match(text, /accepted["']?: 0, ["']?duplicates["']?: 2/);
    const days = await runAll(metering, ["days with curl", "days with TypeScript", "days with Python"]);
    const { data } = JSON.parse(days[0] ?? "") as {
      data: { start: string; productSlug: string; sum: number }[];
    };
    const expected = data.map((row) => `${row.start} ${row.productSlug} ${row.sum}\n`).join("");
    assert.deepEqual(data.map(({ productSlug, sum }) => `${productSlug} ${sum}`), ["search 1", "tiles 3.5"]);
    assert.deepEqual(days.slice(1), [expected, expected]);
  } finally {
    await server.shutdown();
    await test.dispose();
    await Deno.remove(folder, { recursive: true });
  }
});
