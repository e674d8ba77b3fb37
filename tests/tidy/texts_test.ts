// Proof that the rules on texts find what they forbid and allow the rest. What they forbid is written in parts here.
import assert from "node:assert/strict";
import type { Finding, SourceFile } from "./source.ts";
import {
  exportsAreDocumented,
  filesAreSmall,
  namesNoPlace,
  nothingLeftForLater,
  opensWithComment,
  outsideWorld,
  sessionsWriteGuarded,
  sqlOutsideDb,
  testsNeitherFocusNorSleep,
} from "./texts.ts";

type Rule = (files: readonly SourceFile[]) => Finding[];

/** The lines on which a rule finds something in one file. */
function lines(rule: Rule, path: string, text: string): number[] {
  return rule([{ path, text }]).map((finding) => {
    assert.equal(finding.path, path);
    assert.notEqual(finding.message, "");
    return finding.line;
  });
}

Deno.test("outsideWorld() lets only main.ts have arguments and exit", () => {
  for (const name of ["Deno.args", "Deno.exit(1)", "process.argv", "process.exit()"]) {
    assert.deepEqual(lines(outsideWorld, "commands/serve.ts", `// x\n${name};\n`), [2]);
    assert.deepEqual(lines(outsideWorld, "main.ts", `// x\n${name};\n`), []);
    assert.deepEqual(lines(outsideWorld, "tests/main_test.ts", `// x\n${name};\n`), []);
  }
  assert.deepEqual(
    lines(outsideWorld, "app.ts", `// Never Deno.exit here.\n"Deno.exit";\nDeno.exitCode;\n`),
    [],
  );
});

Deno.test("outsideWorld() lets only commands/ read the environment", () => {
  for (const name of ["Deno.env.get", "Deno.env.toObject", "process.env"]) {
    assert.deepEqual(lines(outsideWorld, "main.ts", `// x\n\n${name};\n`), [3]);
    assert.deepEqual(lines(outsideWorld, "config.ts", `// x\n\n${name};\n`), [3]);
    assert.deepEqual(lines(outsideWorld, "commands/serve.ts", `// x\n\n${name};\n`), []);
  }
});

Deno.test("sqlOutsideDb() finds statements in every kind of string", () => {
  const text = [
    `sql("SELECT 1");`,
    "sql(`\n  INSERT INTO users VALUES (?)`);",
    "sql('UPDATE users SET name = ?');",
    "`DELETE FROM ${table}`;",
    `"INSERT OR IGNORE INTO a VALUES (1)";`,
  ].join("\n");
  assert.deepEqual(lines(sqlOutsideDb, "services/users.ts", text), [1, 2, 4, 5, 6]);
  assert.deepEqual(lines(sqlOutsideDb, "db/users.ts", text), []);
  assert.deepEqual(lines(sqlOutsideDb, "tests/users_test.ts", text), []);
});

Deno.test("sessionsWriteGuarded() finds services that take a session and can write without it", () => {
  const text = [
    'import type { SessionActor } from "../domain/actor.ts";',
    "function make({ database }: BaseContext) {}",
    "function rename(actor: SessionActor, database: Database) {}",
  ].join("\n");
  assert.deepEqual(lines(sessionsWriteGuarded, "services/keys.ts", text), [2, 3]);
  assert.deepEqual(lines(sessionsWriteGuarded, "routes/session.ts", text), []);
  const guarded = text.replace("BaseContext", "SessionContext").replace(": Database", ": DatabaseReader");
  assert.deepEqual(lines(sessionsWriteGuarded, "services/keys.ts", guarded), []);
  assert.deepEqual(
    lines(sessionsWriteGuarded, "services/keys.ts", text.replaceAll("SessionActor", "Actor")),
    [],
  );
});

Deno.test("sqlOutsideDb() allows methods, words and comments", () => {
  const text =
    `// SELECT x\napp.on("DELETE", "/x");\n"UPDATE"; "DELETE /api/x"; "Select a key"; "SELECTED";\n`;
  assert.deepEqual(lines(sqlOutsideDb, "routes/a.ts", text), []);
});

Deno.test("filesAreSmall() allows 400 lines and refuses 401, tests included", () => {
  assert.deepEqual(lines(filesAreSmall, "db/a.ts", "x\n".repeat(400)), []);
  assert.deepEqual(lines(filesAreSmall, "db/a.ts", "x\n".repeat(401)), [401]);
  assert.deepEqual(lines(filesAreSmall, "tests/a_test.tsx", "x\n".repeat(401)), [401]);
  assert.deepEqual(lines(filesAreSmall, "README.md", "x\n".repeat(401)), []);
});

Deno.test("filesAreSmall() refuses a file called utils", () => {
  for (
    const name of ["utils.ts", "util.ts", "db_utils.ts", "utils_test.ts", "Utils.tsx", "string.utils.ts"]
  ) {
    assert.deepEqual(lines(filesAreSmall, `db/${name}`, ""), [1], name);
  }
  for (const name of ["utility_bill.ts", "futile.ts", "usage.ts"]) {
    assert.deepEqual(lines(filesAreSmall, `db/${name}`, ""), [], name);
  }
});

Deno.test("opensWithComment() asks for a comment as the first characters", () => {
  for (const text of ["// For x.\n", "/* For x. */", "/** @jsxImportSource hono/jsx */\n"]) {
    assert.deepEqual(lines(opensWithComment, "views/a.tsx", text), []);
  }
  for (const text of ["", "\n// For x.", 'import "x"; // For x.\n']) {
    assert.deepEqual(lines(opensWithComment, "tests/a_test.ts", text), [1]);
  }
  assert.deepEqual(lines(opensWithComment, "db/engine/migrations/0001_a.sql", "-- For x.\n"), []);
  assert.deepEqual(lines(opensWithComment, "db/engine/migrations/0001_a.sql", "CREATE TABLE a"), [1]);
  assert.deepEqual(lines(opensWithComment, "static/a.css", "// For x."), [1]);
  assert.deepEqual(lines(opensWithComment, "deno.json", "{}"), []);
});

Deno.test("exportsAreDocumented() asks for a docstring directly above each exported function", () => {
  const bare = [
    "export function f() {}",
    "export async function f() {}",
    "export function* f() {}",
    "export default function () {}",
    "export const f = () => 1;",
    "export const f = async (a: string): Promise<void> => {};",
    "export const f: F = (a) => a;",
    "export const f = a => a;",
    "export const f = function () {};",
  ];
  for (const text of bare) {
    assert.deepEqual(lines(exportsAreDocumented, "db/a.ts", `// For x.\n${text}\n`), [2], text);
    assert.deepEqual(
      lines(exportsAreDocumented, "db/a.ts", `// For x.\n/* Not one. */\n${text}\n`),
      [3],
      text,
    );
    assert.deepEqual(lines(exportsAreDocumented, "db/a.ts", `/** Of the file. */\nconst a = 1;\n${text}\n`), [
      3,
    ], text);
    assert.deepEqual(lines(exportsAreDocumented, "db/a.ts", `/** Too far. */\n\n${text}\n`), [3], text);
    assert.deepEqual(lines(exportsAreDocumented, "db/a.ts", `/** Does x. */\n${text}\n`), [], text);
    assert.deepEqual(lines(exportsAreDocumented, "db/a.ts", `/**\n * Does x.\n */\n${text}\n`), [], text);
    assert.deepEqual(
      lines(exportsAreDocumented, "db/a.ts", `/** X. */\n// deno-lint-ignore y\n${text}\n`),
      [],
      text,
    );
    assert.deepEqual(lines(exportsAreDocumented, "tests/support/a.ts", `// For x.\n${text}\n`), [], text);
    assert.deepEqual(lines(exportsAreDocumented, "db/a.ts", `/** Mounts \`/x/*\`. */\n${text}\n`), [], text);
    assert.deepEqual(lines(exportsAreDocumented, "views/a.tsx", `// For x.\n${text}\n`), [], text);
  }
});

Deno.test("exportsAreDocumented() leaves overloads, constants and inner functions alone", () => {
  const text = [
    "/** Does x. */",
    "export function f(a: string): void;",
    "export function f(a: number): void;",
    "export function f(a: unknown): void {}",
    "function g() {}",
    "export const limit = 5;",
    "export const table = { a: () => 1 };",
    "export const doubled = [1].map((a) => a * 2);",
  ].join("\n");
  assert.deepEqual(lines(exportsAreDocumented, "db/a.ts", text), []);
});

Deno.test("nothingLeftForLater() finds the usual marks in code, not in prose", () => {
  for (const mark of ["TO" + "DO", "FIX" + "ME", "XX" + "X"]) {
    assert.deepEqual(lines(nothingLeftForLater, "db/a.ts", `// For x.\n// ${mark}: y\n`), [2]);
    assert.deepEqual(lines(nothingLeftForLater, "static/a.css", `/* ${mark} */`), [1]);
    assert.deepEqual(lines(nothingLeftForLater, "CONTRIBUTING.md", `No ${mark}.`), []);
    assert.deepEqual(lines(nothingLeftForLater, "db/a.ts", `const ${mark}S = 1;`), []);
  }
  const [ours, theirs] = ["<".repeat(7), ">".repeat(7)];
  const merged = `One\n   ${ours} HEAD is this. ======= and that\n\n${theirs} caad51d (That)\n`;
  assert.deepEqual(lines(nothingLeftForLater, "docs/a.md", merged), [2, 4]);
  assert.deepEqual(lines(nothingLeftForLater, "docs/a.md", "1 << 2, a >>> b\n=======\n"), []);
});

Deno.test("testsNeitherFocusNorSleep() finds focused tests and fixed waits", () => {
  const waits = `// For x.\nawait sleep(5);\nsetTimeout(f, 5);\nawait page.waitForTimeout(5);\n`;
  assert.deepEqual(lines(testsNeitherFocusNorSleep, "tests/a_test.ts", waits), [2, 3, 4]);
  assert.deepEqual(lines(testsNeitherFocusNorSleep, "tests/support/poll.ts", waits), []);
  assert.deepEqual(lines(testsNeitherFocusNorSleep, "services/recorder.ts", waits), []);
  const focused = `Deno.test.only("x", f);\nDeno.test({ name: "y", only: true, fn });\n`;
  assert.deepEqual(lines(testsNeitherFocusNorSleep, "tests/a_test.ts", focused), [1, 2]);
  assert.deepEqual(lines(testsNeitherFocusNorSleep, "tests/support/a.ts", focused), [1, 2]);
  const fine =
    `// sleep(5)\n"setTimeout(5)";\nclearTimeout(a);\npage.setDefaultTimeout(5);\nAbortSignal.timeout(5);\n`;
  assert.deepEqual(lines(testsNeitherFocusNorSleep, "tests/a_test.ts", fine), []);
});

Deno.test("namesNoPlace() finds folders of one machine and hosts of registries, in every file", () => {
  const bad = [
    "/wo" + "rk/main",
    "cd /ro" + "ot/x",
    "/ho" + "me/jo/x",
    "file:///Us" + "ers/jo/x",
    "https://regis" + "try.npm" + "js.org/zod",
    "https://js" + "r.io/@std/http",
    "npm" + ".js" + "r.io",
    "https://npm" + ".internal.example/zod",
    "HTTPS://ESM." + "SH/zod",
  ];
  for (const path of ["README.md", "docs/a.md", "deno.lock", ".ci/run", "db/a.ts"]) {
    for (const text of bad) {
      const findings = namesNoPlace([{ path, text: `fine\n"${text}"\n` }]);
      assert.ok(findings.length > 0 && findings.every(({ line }) => line === 2), `${path}: ${text}`);
    }
  }
});

Deno.test("namesNoPlace() allows links, ordinary folders and words", () => {
  const fine = "https://docs.deno.com https://example.com/wo" + "rk/x /var/lib/gatehouse net/wo" +
    "rk/x JSR npm:zod";
  assert.deepEqual(lines(namesNoPlace, "README.md", fine), []);
});

Deno.test("namesNoPlace() allows no address at all in the lock file", () => {
  assert.deepEqual(lines(namesNoPlace, "deno.lock", '{\n"tarball": "http://127.0.0.1:8080/zod.tgz"\n}'), [2]);
  assert.deepEqual(lines(namesNoPlace, "README.md", "http://127.0.0.1:8080/"), []);
});
