// Rules on what was promised elsewhere: migrations never change, settings are in the README.
import { hash } from "node:crypto";
import { type Finding, lineAt, type SourceFile } from "./source.ts";

/** Migration files by name with the SHA-256 that they had when they were first released. */
export type FrozenMigrations = Readonly<Record<string, string>>;

const folder = "db/engine/migrations/";
const listPath = "db/engine/migrate.ts";
const frozenPath = "tests/frozen_migrations.json";

/** @returns The SHA-256 of a migration's text, the same for both kinds of line ends. */
export function migrationHash(text: string): string {
  return hash("sha256", text.replaceAll("\r\n", "\n"), "hex");
}

/**
 * Rule: a migration is listed in db/migrate.ts, and never changes once it is frozen.
 *
 * @param files The repository.
 * @param frozen The content of tests/frozen_migrations.json.
 */
export function migrationsAreFrozen(files: readonly SourceFile[], frozen: FrozenMigrations): Finding[] {
  const list = files.find(({ path }) => path === listPath)?.text ?? "";
  const present = files.filter(({ path }) => path.startsWith(folder) && path.endsWith(".sql"));
  const findings: Finding[] = [];
  const seen = new Map<number, string>();
  for (const { path, text } of present) {
    const name = path.slice(folder.length);
    const parts = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(name);
    if (parts === null) {
      findings.push({ path, line: 1, message: "is not named as a migration: 0001_noun.sql" });
      continue;
    }
    const number = Number(parts[1]);
    const twin = seen.get(number);
    if (twin !== undefined) findings.push({ path, line: 1, message: `has the number of ${twin}` });
    seen.set(number, name);
    if (!isListed(list, { name, number, noun: parts[2] ?? "" })) {
      const message = `does not list ${name}: import it and add { number: ${number}, name: "${
        parts[2]
      }", text: … }`;
      findings.push({ path: listPath, line: 1, message });
    }
    const now = migrationHash(text);
    if (frozen[name] === undefined) {
      const message = `has no line in ${frozenPath}. A new migration is added there: "${name}": "${now}"`;
      findings.push({ path, line: 1, message });
    } else if (frozen[name] !== now) {
      const message =
        "was changed: databases have it already, and would refuse to start. An old migration is never " +
        `changed; put it back and write a new one. (${frozenPath} has ${frozen[name]}, the file now ${now})`;
      findings.push({ path, line: 1, message });
    }
  }
  for (
    const name of Object.keys(frozen).filter((name) => !present.some(({ path }) => path === folder + name))
  ) {
    findings.push({
      path: frozenPath,
      line: 1,
      message: `${name} is gone: an old migration is never removed`,
    });
  }
  return findings;
}

function isListed(list: string, migration: { name: string; number: number; noun: string }): boolean {
  const imported = new RegExp(
    `^import (\\w+) from "\\./migrations/${migration.name.replace(".", "\\.")}"`,
    "m",
  ).exec(list);
  const entry = `{ number: ${migration.number}, name: "${migration.noun}", text: ${imported?.[1]} }`;
  return imported !== null && list.replaceAll(/\s+/g, " ").includes(entry);
}

/** Settings as config.ts has them. */
export type KnownSettings = Readonly<Record<string, { readonly default: string }>>;

/**
 * Rule: every setting is a row of the README's settings table with its default, and no row is of an unknown one.
 *
 * A row begins `` | `PORT` | `8000` | ``; an empty default is written `unset`. Only tables that name at least one
 * setting count.
 */
export function settingsAreDocumented(readme: SourceFile | undefined, settings: KnownSettings): Finding[] {
  if (readme === undefined) {
    return [{ path: "README.md", line: 1, message: "is missing, and with it the settings table" }];
  }
  const rows = settingRows(readme.text, settings);
  const findings: Finding[] = [];
  for (const [name, { default: value }] of Object.entries(settings)) {
    const [row, ...more] = rows.filter((row) => row.name === name);
    const wanted = value === "" ? "unset" : value;
    if (row === undefined) {
      findings.push({
        path: readme.path,
        line: 1,
        message: `has no row for the setting: | \`${name}\` | \`${wanted}\` | … |`,
      });
    } else if (row.value !== wanted) {
      const message = `says that ${name} defaults to “${row.value}”; in config.ts it is “${wanted}”`;
      findings.push({ path: readme.path, line: row.line, message });
    }
    for (const { line } of more) {
      findings.push({ path: readme.path, line, message: `has a second row for ${name}` });
    }
  }
  for (const { name, line } of rows.filter(({ name }) => !Object.hasOwn(settings, name))) {
    findings.push({
      path: readme.path,
      line,
      message: `has a row for ${name}, which config.ts does not know`,
    });
  }
  return findings;
}

function settingRows(text: string, settings: KnownSettings): { name: string; value: string; line: number }[] {
  return [...text.matchAll(/^(?:[ \t]*\|[^\n]*(?:\n|$))+/gm)].flatMap((table) => {
    const rows = [...table[0].matchAll(/^[ \t]*\|\s*`([A-Z][A-Z0-9_]*)`\s*\|([^|\n]*)\|/gm)].map((row) => ({
      name: row[1] ?? "",
      value: (row[2] ?? "").replaceAll("`", "").trim(),
      line: lineAt(text, table.index + row.index),
    }));
    return rows.some(({ name }) => Object.hasOwn(settings, name)) ? rows : [];
  });
}
