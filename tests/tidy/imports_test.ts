// Proof that the arrow, circle and framework rules find what they forbid and allow the rest.
import assert from "node:assert/strict";
import { frameworkImports, importArrows, importCircles, importsOf } from "./imports.ts";
import type { SourceFile } from "./source.ts";

/** A file that imports others; each on a line of its own, from line 2. */
function file(path: string, ...specifiers: string[]): SourceFile {
  return { path, text: `// A file.\n${specifiers.map((specifier) => `import "${specifier}";\n`).join("")}` };
}

Deno.test("importsOf() sees every way to import, and its line", () => {
  const text = `// import "./comment.ts";
import a from "./a.ts";
import type { B } from "./folder/b.ts";
import {
  c,
  type D,
} from "../c.ts";
export * from "./e.ts";
export { f } from "./f.ts" with { type: "text" };
import "./g.ts";
import h, { i } from "hono/jsx";
const j = await import("./j.ts");
type K = import("./k.ts").K;
const l = new Worker(new URL("./l.ts", import.meta.url), { type: "module" });
const no = "import './no.ts'";
export const from = "./no.ts";
`;
  assert.deepEqual(importsOf({ path: "services/x.ts", text }), [
    { specifier: "./a.ts", target: "services/a.ts", line: 2 },
    { specifier: "./folder/b.ts", target: "services/folder/b.ts", line: 3 },
    { specifier: "../c.ts", target: "c.ts", line: 7 },
    { specifier: "./e.ts", target: "services/e.ts", line: 8 },
    { specifier: "./f.ts", target: "services/f.ts", line: 9 },
    { specifier: "./g.ts", target: "services/g.ts", line: 10 },
    { specifier: "hono/jsx", target: null, line: 11 },
    { specifier: "./j.ts", target: "services/j.ts", line: 12 },
    { specifier: "./k.ts", target: "services/k.ts", line: 13 },
    { specifier: "./l.ts", target: "services/l.ts", line: 14 },
  ]);
});

Deno.test("importArrows() lets imports go down the house, and inside a layer that is one", () => {
  assert.deepEqual(
    importArrows([
      file("main.ts", "./commands/serve.ts", "./config.ts", "./deno.json"),
      file(
        "commands/serve.ts",
        "./settings.ts",
        "../app.ts",
        "../services/services.ts",
        "../db/open.ts",
        "../config.ts",
      ),
      file("app.ts", "./routes/api/usage.ts", "./services/services.ts", "./config.ts"),
      file(
        "routes/api/usage.ts",
        "../middleware/session.ts",
        "../../services/usage.ts",
        "../../domain/errors.ts",
      ),
      file("routes/assets.ts", "../static/portal.css"),
      file("services/usage.ts", "./context.ts", "../db/usage.ts", "../views/mail.tsx", "../domain/errors.ts"),
      file("views/usage.tsx", "./components/layout.tsx", "../domain/usage_window.ts", "hono/jsx"),
      file(
        "db/engine/migrate.ts",
        "./database.ts",
        "./migrations/0001_foundation.sql",
        "../domain/limits.ts",
        "../config.ts",
      ),
      file("domain/email.ts", "./limits.ts", "node:crypto", "zod"),
      file("config.ts", "ipaddr.js"),
      file("tests/app_test.ts", "../app.ts", "../bench/load.ts", "../domain/email.ts"),
      file("bench/load.ts", "../app.ts", "../tests/support/server.ts"),
    ]),
    [],
  );
});

for (
  const [from, to] of [
    ["config.ts", "./domain/limits.ts"],
    ["config.ts", "./deno.json"],
    ["domain/email.ts", "../config.ts"],
    ["domain/email.ts", "../db/users.ts"],
    ["db/users.ts", "../services/accounts.ts"],
    ["db/users.ts", "../views/users.tsx"],
    ["views/users.tsx", "../services/accounts.ts"],
    ["views/users.tsx", "../db/users.ts"],
    ["views/users.tsx", "../config.ts"],
    ["views/users.tsx", "../static/portal.css"],
    ["services/accounts.ts", "../routes/api/auth.ts"],
    ["services/accounts.ts", "../static/portal.css"],
    ["routes/api/auth.ts", "../../app.ts"],
    ["app.ts", "./commands/serve.ts"],
    ["app.ts", "./static/portal.css"],
    ["commands/serve.ts", "../main.ts"],
    ["services/accounts.ts", "../tests/support/server.ts"],
    ["main.ts", "./bench/load.ts"],
    ["app.ts", "./helpers/text.ts"],
  ] as const
) {
  Deno.test(`importArrows() refuses ${to} in ${from}`, () => {
    const [finding, ...more] = importArrows([file(from, "node:fs", to)]);
    assert.deepEqual([finding?.path, finding?.line, more], [from, 3, []]);
    assert.match(finding?.message ?? "", /^imports \S+; \S+ may import /);
  });
}

Deno.test("importArrows() refuses a file that is in no layer", () => {
  assert.deepEqual(importArrows([file("helpers/text.ts"), file("server.ts")]).map(({ path }) => path), [
    "helpers/text.ts",
    "server.ts",
  ]);
});

Deno.test("importCircles() finds a circle of any length, a type-only one and a file that imports itself", () => {
  const type = { path: "db/d.ts", text: `import type { E } from "./e.ts";\n` };
  assert.deepEqual(
    importCircles([
      file("a.ts", "./b.ts"),
      file("b.ts", "./c.ts"),
      file("c.ts", "node:fs", "./a.ts"),
      type,
      file("db/e.ts", "./d.ts"),
      file("f.ts", "./f.ts"),
    ]),
    [
      { path: "c.ts", line: 3, message: "closes a circle: a.ts → b.ts → c.ts → a.ts" },
      { path: "db/e.ts", line: 2, message: "closes a circle: db/d.ts → db/e.ts → db/d.ts" },
      { path: "f.ts", line: 2, message: "closes a circle: f.ts → f.ts" },
    ],
  );
});

Deno.test("importCircles() allows two ways to one file", () => {
  assert.deepEqual(
    importCircles([
      file("a.ts", "./b.ts", "./c.ts"),
      file("b.ts", "./d.ts"),
      file("c.ts", "./d.ts"),
      file("d.ts"),
    ]),
    [],
  );
});

Deno.test("frameworkImports() keeps Hono out of services/, db/ and domain/, and nowhere else", () => {
  const all = ["hono", "hono/jsx", "@hono/zod-openapi", "npm:hono@4"];
  for (const path of ["services/a.ts", "db/a.ts", "domain/a.ts"]) {
    assert.deepEqual(frameworkImports([file(path, ...all)]).map(({ line }) => line), [2, 3, 4, 5]);
  }
  assert.deepEqual(
    frameworkImports([
      file("routes/a.ts", ...all),
      file("views/a.tsx", ...all),
      file("db/b.ts", "honor", "./hono.ts"),
    ]),
    [],
  );
});
