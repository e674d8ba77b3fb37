// The rules of style, held against the repository as it is. What each rule does and does not find is proved in
// tests/tidy/*_test.ts.
import assert from "node:assert/strict";
import { settings } from "../config.ts";
import frozenMigrations from "./frozen_migrations.json" with { type: "json" };
import { blocksAreRun } from "./tidy/guides.ts";
import { frameworkImports, importArrows, importCircles } from "./tidy/imports.ts";
import { migrationsAreFrozen, settingsAreDocumented } from "./tidy/records.ts";
import { type Finding, readTree, report, type SourceFile } from "./tidy/source.ts";
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
} from "./tidy/texts.ts";

const root = new URL("../", import.meta.url);
const rules: Readonly<Record<string, (files: readonly SourceFile[]) => Finding[]>> = {
  "imports go down the house, never up": importArrows,
  "no import closes a circle": importCircles,
  "services, queries and the domain know nothing of Hono": frameworkImports,
  "only main.ts has arguments and exits, only commands/ reads the environment": outsideWorld,
  "all SQL is in db/": sqlOutsideDb,
  "what acts for a session writes as that session": sessionsWriteGuarded,
  "no file is longer than 400 lines or called utils": filesAreSmall,
  "every migration is listed, and none was ever changed": (files) =>
    migrationsAreFrozen(files, frozenMigrations),
  "the README has every setting with its default, and no other": (files) =>
    settingsAreDocumented(files.find(({ path }) => path === "README.md"), settings),
  "every code block of the guides and recipes is run by a test, or says that it is not": blocksAreRun,
  "every source file opens with what it is for": opensWithComment,
  "every exported function has a docstring": exportsAreDocumented,
  "nothing is left for later": nothingLeftForLater,
  "tests run all and never sleep": testsNeitherFocusNorSleep,
  "no file names a machine or a package registry": namesNoPlace,
};

for (const [promise, rule] of Object.entries(rules)) {
  Deno.test(promise, async () => {
    const files = await readTree(root);
    assert.ok(files.some(({ path }) => path === "config.ts"), "the repository was not found");
    const findings = rule(files);
    assert.ok(findings.length === 0, `${promise}:${report(findings)}`);
  });
}
