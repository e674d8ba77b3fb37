// The rules of style, applied to this repository. tests/tidy/rules_test.ts proves what each rule finds.
import assert from "node:assert/strict";
import { settings } from "../config.ts";
import { upgrades } from "./support/database/upgrades.ts";
import frozenMigrations from "./frozen_migrations.json" with { type: "json" };
import { codeRules } from "./tidy/code.ts";
import { documentRules, migrationsAreFrozen, settingsAreDocumented } from "./tidy/documents.ts";
import { houseRules } from "./tidy/houses.ts";
import { importRules } from "./tidy/imports.ts";
import { type Finding, readTree, type Rules } from "./tidy/source.ts";
import { textRules } from "./tidy/texts.ts";

/** The document with the table of settings. */
const settingsDocument = "docs/settings.md";

/** Findings that are allowed, as the path and the start of the message, with the reason. */
const exceptions: Readonly<Record<string, string>> = {};

const rules: Rules = {
  ...importRules,
  ...houseRules,
  ...codeRules,
  ...textRules,
  ...documentRules,
  "every setting is documented with its default": settingsAreDocumented(settingsDocument, settings),
  "every migration is listed, and none ever changes": migrationsAreFrozen(frozenMigrations, upgrades),
};

const files = await readTree(new URL("../", import.meta.url));
const isAllowed = ({ path, message }: Finding, exception: string) =>
  `${path} ${message}`.startsWith(`${exception} `);

for (const [promise, rule] of Object.entries(rules)) {
  Deno.test(promise, () => {
    assert.ok(files.some(({ path }) => path === "config.ts"), "the repository was not found");
    const findings = rule(files).filter((finding) =>
      !Object.keys(exceptions).some((one) => isAllowed(finding, one))
    );
    const report = findings.map(({ path, line, message }) => `\n  ${path}:${line}: ${message}`).join("");
    assert.ok(findings.length === 0, promise + report);
  });
}

Deno.test("every exception is needed", () => {
  const findings = Object.values(rules).flatMap((rule) => rule(files));
  const unneeded = Object.keys(exceptions).filter((one) =>
    !findings.some((finding) => isAllowed(finding, one))
  );
  assert.deepEqual(unneeded, []);
});
