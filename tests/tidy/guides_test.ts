// What the rule on the guides' code blocks finds, and what it leaves alone.
import assert from "node:assert/strict";
import { blocksAreRun } from "./guides.ts";

const test = { path: "tests/guides/a_test.ts", text: 'await readGuide("a.md"); run("start"); run("stop");' };
const fence = "```";

function findings(text: string, path = "docs/guides/a.md"): string[] {
  return blocksAreRun([{ path, text }, test]).map(({ line, message }) => `${line}: ${message}`);
}

/** A document with a block below a mark. */
const below = (mark: string, language = "sh") => `# A\n\n${mark}\n${fence}${language}\nmake\n${fence}\n`;

Deno.test("a block that a test runs, or that says why not, is left alone", () => {
  assert.deepEqual(findings(below("<!-- run by tests/guides/a_test.ts: start -->")), []);
  assert.deepEqual(findings(below("<!-- run by tests/guides/a_test.ts: start -->\n")), []);
  assert.deepEqual(findings(below("<!-- run by tests/guides/a_test.ts -->")), []);
  assert.deepEqual(findings(below("<!-- not run: needs Go -->")), []);
  assert.deepEqual(findings(below("", "sh"), "docs/performance.md"), []);
});

Deno.test("a block without a word, or with one that is not so, is found at its line", () => {
  const neither = /^4: a block of sh says neither/;
  assert.match(findings(below(""))[0] ?? "", neither);
  assert.match(findings(below(""), "docs/recipes/a.md")[0] ?? "", neither);
  assert.match(findings(below("<!-- not run: -->"))[0] ?? "", neither);
  assert.match(
    findings(below("<!-- not run: reason -->\n\nBetween.\n"))[0] ?? "",
    /^7: a block of sh says neither/,
  );
  assert.match(findings(below("", ""))[0] ?? "", /of no language/);
  const cases = [
    ["<!-- run by tests/guides/b_test.ts: start -->", "there is no test tests/guides/b_test.ts"],
    ["<!-- run by tests/guides/a_test.ts: rest -->", "tests/guides/a_test.ts does not run rest"],
    // A part of a name is not the name.
    ["<!-- run by tests/guides/a_test.ts: sta -->", "tests/guides/a_test.ts does not run sta"],
  ] as const;
  for (const [mark, message] of cases) assert.deepEqual(findings(below(mark)), [`4: ${message}`]);
  const other = blocksAreRun([
    { path: "docs/guides/b.md", text: below("<!-- run by tests/guides/a_test.ts: start -->") },
    test,
  ]);
  assert.equal(other[0]?.message, "tests/guides/a_test.ts does not read it");
  const twice = below("<!-- run by tests/guides/a_test.ts: start -->");
  assert.deepEqual(findings(twice + twice), ["10: start is the name of two blocks"]);
  const nameless = [{ path: "docs/recipes/b.md", text: below("<!-- run by tests/guides/a_test.ts -->") }];
  assert.equal(blocksAreRun([...nameless, test])[0]?.message, "tests/guides/a_test.ts does not read it");
  const reading = { ...test, text: "// The recipes of docs/recipes/ as they stand." };
  assert.deepEqual(blocksAreRun([...nameless, reading]), []);
});

Deno.test("longer fences and indented ones are blocks too, and what is inside of them is none", () => {
  const outer = `${fence}\`\`md\n${fence}sh\nmake\n${fence}\n${fence}\`\`\n`;
  assert.equal(findings(outer).length, 1);
  assert.equal(findings(`- a\n\n  ${fence}sh\n  make\n  ${fence}\n`).length, 1);
});
