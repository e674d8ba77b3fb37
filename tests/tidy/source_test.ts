// Proof that code, comments and strings are told apart, and that the repository is read whole.
import assert from "node:assert/strict";
import { lineAt, readTree, report, scan } from "./source.ts";

Deno.test("scan() blanks comments and strings and keeps every position", () => {
  const text = `const a = "b // c"; // d\n/* e\nf */ g('h', \`i \${j("k")} l\`);\n`;
  const { code, strings } = scan(text);
  assert.equal(code, `const a = "      ";     \n    \n     g(' ', \`  \${j(" ")}  \`);\n`);
  assert.deepEqual(strings.map(({ text }) => text), ["b // c", "h", "i ", "k"]);
  for (const string of strings) assert.equal(text.slice(string.index).startsWith(string.text), true);
});

Deno.test("scan() is not led astray by quotes in regular expressions, divisions and JSX", () => {
  assert.match(scan("const f = /[\"'`/]/g; Deno.env").code, /Deno\.env$/);
  assert.match(scan('x.match(/a"/); Deno.env').code, /Deno\.env$/);
  assert.match(scan("const a = b / c; // '\nDeno.env").code, /Deno\.env$/);
  assert.match(scan("<p>Don't</p>;\nDeno.env").code, /Deno\.env$/);
  assert.match(scan("<br /> / <p>x</p>;\nDeno.env").code, /Deno\.env$/);
  assert.match(scan('const a = "\\""; Deno.env').code, /Deno\.env$/);
});

Deno.test("scan() finds the end of nested templates", () => {
  const { code } = scan("`a ${b({ c: `d ${e} }` })} Deno.args`; Deno.env");
  assert.doesNotMatch(code, /Deno\.args/);
  assert.match(code, /; Deno\.env$/);
});

Deno.test("lineAt() counts from 1, and report() names file and line", () => {
  assert.equal(lineAt("a\nb\nc", 0), 1);
  assert.equal(lineAt("a\nb\nc", 4), 3);
  assert.equal(report([{ path: "a.ts", line: 3, message: "is bad" }]), "\n  a.ts:3: is bad");
});

Deno.test("readTree() reads text files, hidden ones too, without what .gitignore names", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/a/dist`, { recursive: true });
    await Deno.mkdir(`${folder}/dist`);
    await Deno.mkdir(`${folder}/.git`);
    for (const path of ["b.ts", "a/c.md", "a/dist/d.ts", ".ci", "dist/e.ts", ".git/f", "a/g.db"]) {
      await Deno.writeTextFile(`${folder}/${path}`, "text");
    }
    await Deno.writeTextFile(`${folder}/.gitignore`, "/dist/\n*.db\n");
    await Deno.writeTextFile(`${folder}/picture`, "\0");
    const files = await readTree(new URL(`file://${folder}/`));
    assert.deepEqual(files.map(({ path }) => path), [".ci", ".gitignore", "a/c.md", "a/dist/d.ts", "b.ts"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
