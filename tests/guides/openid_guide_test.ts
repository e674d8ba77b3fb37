// docs/openid.md: the tests that it names for each point of a standard exist.
import assert from "node:assert/strict";

const folder = new URL("../routes/oauth/", import.meta.url);
const guide = await Deno.readTextFile(new URL("../../docs/openid.md", import.meta.url));
const rows = [...guide.matchAll(/^\| (.+?) +\| `(\w+)`: (.+?) +\|$/gm)]
  .map(([, point = "", file = "", name = ""]) => ({ point, file, name }));

Deno.test("each point of a standard names a test that exists", async () => {
  assert.ok(rows.length > 50);
  for (const { point, file, name } of rows) {
    const text = await Deno.readTextFile(new URL(`${file}_test.ts`, folder));
    assert.ok(text.includes(JSON.stringify(name)), `${point}: ${file}_test.ts has no test “${name}”`);
  }
});

Deno.test("every standard that the guide compares has points", () => {
  const section = guide.split("## Compare with the standards")[1]?.split(/^## /m)[0] ?? "";
  const [, ...parts] = section.split(/^### /m);
  for (const number of [6749, 7636, 7662, 8252, 8414, 8628, 8707, 9068, 9207, 9700]) {
    assert.ok(parts.some((part) => part.includes(`RFC ${number}`)), String(number));
  }
  for (const part of parts) assert.match(part, /\| `\w+`: /, part.slice(0, 60));
  assert.match(section, /isn't certified/);
});
