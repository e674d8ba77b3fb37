// Proof that each rule finds what it forbids and allows the rest. What no file may contain is written in parts.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { codeRules } from "./code.ts";
import { documentRules, migrationsAreFrozen, settingsAreDocumented } from "./documents.ts";
import { houseRules } from "./houses.ts";
import { importRules } from "./imports.ts";
import { readTree, type Rules } from "./source.ts";
import { textRules } from "./texts.ts";

const settings = { PORT: { default: "8000" }, TOKEN: { default: "" } };
const rules: Rules = {
  ...importRules,
  ...houseRules,
  ...codeRules,
  ...textRules,
  ...documentRules,
  "every setting is documented with its default": settingsAreDocumented("a.md", settings),
  "every migration is listed, and none ever changes": migrationsAreFrozen(
    { "0001_a.sql": hash("sha256", "A"), "0002_b.sql": hash("sha256", "B") },
    [{ number: 1, name: "a", text: "A" }, { number: 2, name: "b", text: "B" }],
  ),
};

const [short, medium, long] = [40, 60, 61].map((count) => "⏎a();".repeat(count));
const [mounts, calls] = ["app.get(⏎a,⏎);⏎mount(app, {⏎a,⏎});⏎route({⏎a,⏎});⏎", "a(b, {⏎app,⏎});⏎"].map((
  text,
) => text.repeat(30));
const table = "| | |⏎|---|---|⏎| `PORT` | `8000` |⏎| `TOKEN` | unset |⏎";
const readers =
  'tests/a_test.ts: readGuide("a.md"); run("start"); run("stop"); ⏎== tests/all_test.ts: // docs/recipes/';
const block = "⏎```sh⏎make⏎```⏎";
const migrations = "db/engine/migrations/0001_a.sql: A⏎== db/engine/migrations/0002_b.sql: B";
const places =
  "services/a.ts: export function f() {} class B { close() {} } interface C { g(): void }⏎== docs/architecture.md: ## Where is…?⏎" +
  "⏎| Question | File | Function |⏎|---|---|---|⏎";

// A case is a line: the number of findings, a path, and the file's text, where `⏎` ends a line and `⏎==` begins another file.
const cases = `
# imports go down the layers, never up
0 main.ts: import "./commands/serve.ts"; import "./config.ts"; import "./deno.json"; import "npm:a"; import "node:fs";
0 commands/serve.ts: import "./settings.ts"; import "../app.ts"; import "../db/engine/open.ts";
2 commands/serve.ts: import "../main.ts"; import "../tests/support/app.ts";
0 app.ts: import "./routes/api/routes.ts"; import "./services/services.ts"; import "./config.ts";
3 app.ts: import "./commands/serve.ts"; import "./static/a.css"; import "./helpers/a.ts";
0 routes/api/usage.ts: import "../schemas.ts"; import "../../views/docs.tsx"; import "../../static/a.css";
2 routes/api/usage.ts: import "../../app.ts"; import "../../commands/a.ts";
0 services/meter/usage.ts: import "../context.ts"; import "../../db/usage.ts"; import "../../domain/usage.ts";
3 services/meter/usage.ts: import "../../routes/a.ts"; import "../../views/a.tsx"; import "../../static/a.css";
0 views/usage.tsx: import "./components/layout.tsx"; import "../domain/usage.ts"; import "hono/jsx";
4 views/usage.tsx: import "../services/a.ts"; import "../db/a.ts"; import "../config.ts"; import "../static/a.css";
0 db/engine/migrate.ts: import "../database.ts"; import "./migrations/0001_a.sql"; import "../../config.ts";
2 db/engine/migrate.ts: import "../../services/a.ts"; import "../../views/a.tsx";
2 domain/email.ts: import type { A } from "../db/a.ts"; export * from "../db/a.ts";
2 domain/email.ts: const a = await import("../db/a.ts"); type B = import("../db/b.ts").B;
1 domain/email.ts: new Worker(new URL("../db/a.ts", import.meta.url), { type: "module" });
0 domain/email.ts: const from = "import '../db/a.ts'"; // import "../db/a.ts"
1 config.ts: import "./domain/limits.ts"; import "./deno.json";
1 helpers/a.ts: const isInNoLayer = true;
0 tests/app_test.ts: import "../app.ts"; import "../bench/load.ts";
# services, queries and the domain do not use Hono
2 services/a.ts: import "hono"; import "hono/jsx";
1 db/a.ts: import "@hono/zod-openapi"; import "honor"; import "./hono.ts";
1 domain/a.ts: import "npm:hono@4";
0 routes/a.ts: import "hono";
# the client has no dependencies
2 packages/client/src/a.ts: import "hono"; import { Hono } from "hono";
1 packages/client/src/a.ts: import "npm:hono@4"; import "./b.ts"; import "node:fs"; import type { Context } from "hono";
0 packages/client/build.ts: import ts from "npm:typescript";
# no import closes a circle
1 a.ts: import "./b.ts";⏎== b.ts: import "./c.ts";⏎== c.ts: import "node:fs"; import "./a.ts";
0 a.ts: import type { B } from "./b.ts";⏎== b.ts: import type { A } from "./a.ts";
1 a.ts: import "./a.ts";
0 a.ts: import "./b.ts"; import "./c.ts";⏎== b.ts: import "./c.ts";⏎== c.ts: import "./d.ts";
# subjects import each other only downwards
0 services/meter/a.ts: import "../access/mod.ts"; import "../../db/outbox/mod.ts"; import "../context.ts"; import "./jobs/b.ts";
2 services/meter/a.ts: import "../people/mod.ts"; import type { B } from "../../db/keys/mod.ts";
1 routes/meter/a.ts: import "../people/b.ts"; import "../outbox/c.ts"; import "../../services/people/mod.ts"; import "../session.ts";
0 routes/a.ts: import "../services/people/mod.ts";
# subjects are entered by their doors
0 services/meter/a.ts: import "../../db/meter/b.ts"; import "./jobs/c.ts"; import "../access/mod.ts"; import "../../db/engine/d.ts";
2 services/meter/a.ts: import "../access/b.ts"; import type { C } from "../../db/access/c.ts";
1 services/people/a.ts: import "../meter/jobs/mod.ts"; import "../meter/jobs/b.ts";
2 commands/a.ts: import "../services/meter/b.ts"; const c = await import("../db/keys/c.ts"); import "../services/keys/mod.ts";
0 services/context.ts: import type { B } from "./meter/b.ts";
0 routes/portal/a.ts: import "../../views/keys/a.tsx";
1 views/keys/a.tsx: import "../meter/b.tsx"; import "../meter/mod.ts"; import "../components/c.tsx";
# tables are named by their own subject
1 db/meter/mod.ts: // The meter.⏎// Tables: usage,⏎// sums.⏎== db/keys/a.ts: sql\`SELECT 1 FROM usage\`; sql\`SELECT 1 FROM keys\`; "FROM usage";
2 db/meter/mod.ts: // Tables: usage, sums.⏎== db/keys/a.ts: sql\`UPDATE usage SET a = \${b} WHERE \${c} IN (SELECT d FROM sums)\`;
0 db/meter/mod.ts: // Tables: usage.⏎== db/meter/a.ts: sql\`INSERT OR IGNORE INTO usage SELECT 1\`;⏎== db/keys/a.ts: // FROM usage
2 db/outbox/mod.ts: // Tables: outbox, link_tokens.⏎== db/people/invitations.ts: sql\`SELECT 1 FROM outbox\`;
0 db/outbox/mod.ts: // Tables: link_tokens.⏎== db/people/invitations.ts: sql\`SELECT 1 FROM link_tokens\`;
# subjects do not grow unnoticed
0 db/keys/a.ts: ${"⏎".repeat(100)}
1 db/keys/a.ts: ${"⏎".repeat(5000)}⏎== services/keys/b.ts: ${"⏎".repeat(5000)}
# only main.ts uses arguments and exits, only commands/ and packages/ read the environment
6 app.ts: Deno.args; Deno.exit(1); process.argv; process.exit(); Deno.env.get("A"); process.env;
0 app.ts: /["'\`]/; "Deno.exit"; \`\${a} Deno.exit\`; Deno.exitCode; // Deno.exit
1 views/a.tsx: <p>Don't</p>; Deno.env;
1 main.ts: Deno.args; Deno.exit(1); Deno.env;
1 packages/client/src/a.ts: process.exit(); process.env;
1 commands/serve.ts: Deno.env.toObject(); Deno.exit(1);
0 tests/a_test.ts: Deno.args; Deno.env;
# all SQL is in db/
4 services/a.ts: "SELECT 1"; 'UPDATE a SET b = 1'; \`⏎ DELETE FROM \${table}\`; \`INSERT OR IGNORE INTO a\`;
0 routes/a.ts: app.on("DELETE", "/x"); "UPDATE"; "DELETE /api/x"; "Select a key"; "SELECTED"; // SELECT x
0 db/a.ts: "SELECT 1";
# what acts for a session writes as that session
2 services/a.ts: function f(a: SessionActor) {} function g(a: BaseContext, b: Database) {} // Database
2 services/a.ts: function f(a: SessionActor, b: Context) {} function g(a: Context) { return (b: SessionActor) => 1; }
2 services/a.ts: function f(a: Access, b: BaseContext) {} function g(a: MemberAccess, b: Context) {}
0 services/a.ts: function f(a: SessionActor, b: SessionContext, c: DatabaseReader) {} function g(a: Context) {}
0 services/a.ts: function f(a: Actor, b: BaseContext, c: Database, d: Context) {} // SessionActor
0 routes/a.ts: function f(a: SessionActor, b: Context) {}
# messages about input are our own
2 routes/a.ts: a.safeParse(b); await c.d.safeParseAsync(e);
0 routes/schemas/issues.ts: a.safeParse(b);
0 routes/a.ts: parse(a, b); safeParse(c); JSON.parse(d);
# jobs of the reports thread only read
0 services/reports/jobs/a.ts: await database.read(findSums()); sums.add(1); const written = 1;
3 services/reports/jobs/a.ts: await database.write([]); insertAuditEvent(a); await writeAndRead(b);
0 services/a.ts: await database.write([insertAuditEvent(a)]);
# routes read reports through services
0 routes/a.ts: await readUsagePage(services, access, { query, signal }); set(reports.counts.running);
2 routes/portal/a.ts: services.reports.read("a", input, { reader }); await parts.services.reports.bytes("b", {}, c);
0 services/a.ts: await context.reports.read("a", input, { reader });
# the server opens files only where they can't be the data file
2 services/a.ts: await Deno.copyFile(path, to); using file = Deno.openSync(path);
0 services/continuous_backup.ts: this.#file = Deno.openSync(path);
0 services/a.ts: Deno.statSync(path); deepEqual.open(path);⏎== commands/a.ts: Deno.readTextFile(path);
# no function of the program is longer than 60 lines
0 db/a.ts: function a() {${medium}⏎}
2 db/a.ts: function a() {${long}⏎}⏎const b = () => {${long}⏎};
1 views/a.tsx: class A { b() {${long}⏎} }
0 db/a.ts: function a() {${short}⏎const b = () => {${short}⏎};⏎}
1 db/a.ts: function a() {${short}⏎function b() {${long}⏎}⏎}
0 routes/a.ts: function a(app) {⏎${mounts}}
1 routes/a.ts: function a(app) {⏎${calls}}
0 tests/a_test.ts: function a() {${long}⏎}
# tests run all and never sleep
3 tests/a_test.ts: await sleep(5); setTimeout(f, 5); await page.waitForTimeout(5);
2 tests/support/a.ts: Deno.test.only("x", f); Deno.test({ name: "y", only: true, fn }); await sleep(5);
0 tests/a_test.ts: "setTimeout(5)"; clearTimeout(a); page.setDefaultTimeout(5); AbortSignal.timeout(5); // sleep(5)
0 services/recorder.ts: setTimeout(f, 5);
# no file is longer than 400 lines
0 db/a.ts: ${"⏎".repeat(400)}
1 tests/a_test.tsx: ${"⏎".repeat(401)}
0 README.md: ${"⏎".repeat(401)}
# no file is called utils
1 db/utils.ts:
1 db/string.util.ts:
1 tests/usage_utils_test.ts:
0 db/utility_bill.ts:
# every source file opens with a comment
0 views/a.tsx: /** @jsxImportSource hono/jsx */
1 tests/a_test.ts: ⏎// For x.
0 db/engine/migrations/0001_a.sql: -- For x.
1 db/engine/migrations/0001_a.sql: CREATE TABLE a
1 static/a.css: // For x.
0 deno.json: {}
# texts are in plain English
2 docs/a.md: Who${"ever"} asks.⏎Some${"body"} else.
0 docs/a.md: Anyone who asks. Everybody. One's.
# docstrings say what their subject does
3 services/sign_in/a.ts: /** What it is. */⏎a;⏎/**⏎ * Whether it is.⏎ */⏎/** Asks. @returns Whether it is. */
0 services/sign_in/a.ts: /** Asks what it is. @returns A number. */⏎// What it is.⏎"/** Whatnot */"
0 tests/a.ts: /** What it is. */
# code has no reminders
3 db/a.ts: // ${"TO"}DO: x⏎// ${"FIX"}ME: x⏎/* ${"XX"}X */
0 db/a.ts: const ${"TO"}DOS = 1;
0 CONTRIBUTING.md: No ${"TO"}DO.
# no file has the marks of a merge
2 docs/a.md: One ${"<".repeat(7)} HEAD is this. ======= and that⏎${">".repeat(7)} caad51d (That)
0 docs/a.md: 1 << 2, a >>> b⏎=======⏎
# no file names a folder of one machine
4 README.md: /wo${"rk"}/main⏎cd /ro${"ot"}/x⏎file:///ho${"me"}/jo/x⏎/Us${"ers"}/jo/x
0 README.md: https://example.com/wo${"rk"}/x /var/lib/gatehouse net/wo${"rk"}/x
# no file names the host of a package registry
3 deno.lock: https:/${"/regis"}try.npm${"js"}.org/zod⏎npm.j${"sr"}.io⏎files.python${"hosted"}.org
2 README.md: https:/${"/npm"}.internal.example/zod⏎HTTPS://ESM.${"SH"}/zod
0 README.md: https://docs.deno.com JSR npm:zod
# the lock file has no address
1 deno.lock: "tarball": "http://127.0.0.1:8080/zod.tgz"
0 README.md: http://127.0.0.1:8080/
# every code block of the guides is run by a test, or says why not
0 docs/guides/a.md: <!-- run by tests/a_test.ts: start -->${block}<!-- run by tests/a_test.ts: stop -->⏎${block}⏎== ${readers}
0 docs/guides/a.md: <!-- run by tests/a_test.ts -->${block}<!-- not run: needs Go -->${block}⏎== ${readers}
0 docs/recipes/b.md: <!-- run by tests/all_test.ts -->${block}⏎== ${readers}
0 docs/performance.md: ${block}
3 docs/a.md: ${block}<!-- not run: -->${block}<!-- not run: x -->⏎⏎Between.⏎${block}⏎== ${readers}
2 docs/guides/a.md: <!-- run by tests/a_test.ts: sta -->${block}<!-- run by tests/b_test.ts: start -->${block}⏎== ${readers}
1 docs/guides/a.md: ${`<!-- run by tests/a_test.ts: start -->${block}`.repeat(2)}⏎== ${readers}
2 docs/guides/b.md: <!-- run by tests/a_test.ts: start -->${block}<!-- run by tests/all_test.ts -->${block}⏎== ${readers}
2 docs/guides/a.md: - a⏎⏎  \`\`\`sh⏎  make⏎  \`\`\`⏎⏎\`\`\`\`md⏎${block}\`\`\`\`⏎
# every file and function in the table “Where is…?” exists
0 ${places}| a | \`services/a.ts\` | \`f()\` |⏎| b | [\`services/a.ts\`](x) | \`B.close\` |⏎⏎## More⏎| a | b |⏎
1 docs/architecture.md: ## Where is…?⏎⏎Nowhere.⏎
2 ${places}| a | \`services/a.ts\` | \`g\` |⏎| b | \`services/b.ts\` | \`f\` |⏎
2 ${places}| a | \`services/a.ts\` | f |⏎| b | services/a.ts | \`f\` |⏎
# every setting is documented with its default
0 a.md: ${table}⏎| Role |⏎|---|⏎| \`OWNER\` | everything |
2 a.md: # Nothing
2 a.md: ${table.replace("8000", "80").replace("unset", "a")}
2 a.md: ${table}| \`OLD\` | 1 |⏎| \`PORT\` | \`8000\` |
# every migration is listed, and none ever changes
0 ${migrations}
2 ${migrations.replace("B", "C")}
2 db/engine/migrations/0001_a.sql: A
2 ${migrations}⏎== db/engine/migrations/0003_c.sql: C
3 ${migrations}⏎== db/engine/migrations/3.sql: C
4 ${migrations}⏎== db/engine/migrations/0002_c.sql: C
`;

for (
  const [promise = "", ...lines] of cases.split(/^# /m).slice(1).map((section) => section.trim().split("\n"))
) {
  Deno.test(`a violation is found: ${promise}`, () => {
    assert.ok(lines.length > 1, "no case is given");
    for (const line of lines) {
      const files = line.slice(2).replaceAll("⏎", "\n").split("\n== ").map((file) => {
        const [, path = "", text = ""] = /^(\S+): ?([^]*)$/.exec(file) ?? [];
        return { path, text };
      });
      const found = rules[promise]?.(files);
      assert.equal(found?.length, Number(line[0]), `${line}\n${JSON.stringify(found)}`);
    }
  });
}

Deno.test("every rule has cases", () => {
  assert.deepEqual([...cases.matchAll(/^# (.*)$/gm)].map(([, promise]) => promise), Object.keys(rules));
});

Deno.test("a finding has the line and the reason", () => {
  const files = [{ path: "db/a.ts", text: '// For x.\nimport "../views/a.ts";' }];
  const message = "imports views/a.ts (db/ may import db/ domain/ config.ts)";
  const found = rules["imports go down the layers, never up"]?.(files);
  assert.deepEqual(found, [{ path: "db/a.ts", line: 2, message }]);
});

Deno.test("readTree() reads text files, hidden ones too, except those that .gitignore names", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const all = "b.ts a/c.md a/dist/d .ci dist/e .git/f a/g.db picture .gitignore";
    for (const path of all.split(" ")) {
      await Deno.mkdir(new URL(".", `file://${folder}/${path}`), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, path === "picture" ? "\0" : "/dist/\n*.db\n");
    }
    const paths = (await readTree(new URL(`file://${folder}/`))).map(({ path }) => path);
    assert.deepEqual(paths.sort(), [".ci", ".gitignore", "a/c.md", "a/dist/d", "b.ts"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
