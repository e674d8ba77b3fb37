// The rules on promises: settings are documented, code blocks are run, named places exist, and migrations never change.
import { hash } from "node:crypto";
import { codeBlocks } from "../support/runner/guides.ts";
import { type Finding, findingAt, nodesOf, type Rule, type Rules, type SourceFile, ts } from "./source.ts";

export const documentRules: Rules = {
  "every code block of the guides is run by a test, or says why not": blocksAreRun,
  "every file and function in the table “Where is…?” exists": placesExist,
};

/**
 * Above every code block of a guide stands `<!-- run by TEST: NAME -->`, where TEST is a test that mentions the document
 * and the name, or `<!-- not run: REASON -->`. When a test runs all blocks of a language, the name is left out, and the test may
 * mention the folder alone.
 */
function blocksAreRun(files: readonly SourceFile[]): Finding[] {
  return files.filter(({ path }) =>
    /^docs\/(?!decisions\/|(architecture|operations|performance)\.md$).*\.md$/.test(path)
  ).flatMap(
    ({ path, text }) => {
      const [folder = "", document = ""] = path.split(/(?<=\/)(?=[^/]+$)/);
      const blocks = codeBlocks(text).filter(({ mark }) => mark === null || !/^not run: \S/.test(mark));
      return blocks.flatMap(({ line, mark }, index) => {
        const [, test = "", name] = /^run by (\S+_test\.ts)(?:: (.+))?$/.exec(mark ?? "") ?? [];
        const source = files.find((file) => file.path === test)?.text ?? "";
        const isRead = source.includes(document) || (name === undefined && source.includes(folder));
        const first = blocks.findIndex((block) => name !== undefined && block.mark?.endsWith(`: ${name}`));
        let message: string | undefined;
        if (test === "") message = "needs <!-- run by TEST: NAME --> or <!-- not run: REASON --> above it";
        else if (source === "") message = `names ${test}, which does not exist`;
        else if (!isRead || !source.includes(name === undefined ? "" : `"${name}"`)) {
          message = `is not run by ${test}`;
        } else if (first >= 0 && first < index) message = `has the name of another block: ${name}`;
        return message === undefined ? [] : [{ path, line, message: `this code block ${message}` }];
      });
    },
  );
}

/** The table below `## Where is…?` names in each row, after the question, a file and a function, method or class of it. */
function placesExist(files: readonly SourceFile[]): Finding[] {
  return files.filter(({ path }) => path === "docs/architecture.md").flatMap((document) => {
    const [before = "", section = ""] = document.text.split(/(?<=^## Where is…\?$)/m);
    const rows = [...section.replace(/^## [^]*/m, "").matchAll(/^\|.+\|$/gm)].slice(2);
    if (rows.length === 0) return [findingAt(document, 0, "has no table below “## Where is…?”")];
    return rows.flatMap((row) => {
      const [, , path = "", name = ""] = row[0].split("|").map((cell) => /`([^`(]+)/.exec(cell)?.[1] ?? "");
      const file = files.find((file) => file.path === path);
      const isDeclared = file !== undefined &&
        nodesOf(file).some((node) =>
          (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isClassDeclaration(node) ||
            ts.isVariableDeclaration(node)) &&
          node.name?.getText() === name.split(".").at(-1)
        );
      const message = `“${path}” does not declare “${name}”`;
      return isDeclared ? [] : [findingAt(document, before.length + row.index, message)];
    });
  });
}

/**
 * Every setting is a row of a document with its default, and no row is about an unknown setting.
 *
 * A row begins `` | `PORT` | `8000` | ``; an empty default is written `unset`. Only tables that name at least one setting count.
 */
export function settingsAreDocumented(
  path: string,
  settings: Readonly<Record<string, { default: string }>>,
): Rule {
  return (files) => {
    const file = files.find((file) => file.path === path) ?? { path, text: "" };
    const tables = [...file.text.matchAll(/^(?:[ \t]*\|[^\n]*(?:\n|$))+/gm)].map((
      [table],
    ) => [...table.matchAll(/^[ \t]*\|\s*`([A-Z][A-Z0-9_]*)`\s*\|([^|\n]*)\|/gm)]);
    const rows = tables.filter((table) => table.some(([, name = ""]) => Object.hasOwn(settings, name)))
      .flat();
    const names = new Set([...Object.keys(settings), ...rows.map(([, name = ""]) => name)]);
    return [...names].flatMap((name) => {
      const values = rows.filter((row) => row[1] === name).map(([, , value]) =>
        value?.replaceAll("`", "").trim()
      );
      const documented = values.map((value) => `“${value}”`).join(" and ") || "nothing";
      const wanted = settings[name] === undefined ? "nothing" : `“${settings[name].default || "unset"}”`;
      const message = `${name} defaults to ${documented} here and to ${wanted} in config.ts`;
      return documented === wanted ? [] : [findingAt(file, file.text.indexOf(`\`${name}\``), message)];
    });
  };
}

/**
 * A migration has a number of its own, is in the program's list, and never changes once it is frozen.
 *
 * @param frozen SHA-256 by file name, as when each was first released.
 * @param listed The migrations that the program applies.
 */
export function migrationsAreFrozen(
  frozen: Readonly<Record<string, string>>,
  listed: readonly { readonly number: number; readonly name: string; readonly text: string }[],
): Rule {
  const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
  return (files) => {
    const migrations = files.filter(({ path }) =>
      /^db\/engine\/migrations\/.*\.sql$|^tests\/support\/database\/\d.*\.sql$/.test(path)
    );
    const texts = new Map(migrations.map(({ path, text }) => [nameOf(path), text]));
    const applied = new Map(
      listed.map((one) => [`${String(one.number).padStart(4, "0")}_${one.name}.sql`, one.text]),
    );
    const names = [...new Set([...texts.keys(), ...applied.keys(), ...Object.keys(frozen)])];
    return names.flatMap((name) => {
      // The same for both kinds of line ends.
      const now = hash("sha256", (texts.get(name) ?? "").replaceAll("\r\n", "\n"));
      const isAlone = names.filter((other) => other.slice(0, 4) === name.slice(0, 4)).length === 1;
      const faults: string[] = [];
      const isNamed = isAlone && /^\d{4}_[a-z0-9_]+\.sql$/.test(name);
      if (!isNamed) faults.push("is not named 0001_noun.sql with the next number");
      if (applied.get(name) !== texts.get(name)) faults.push("is not listed in `migrations` as it is");
      if (frozen[name] === undefined) {
        faults.push(`is new: add "${name}": "${now}" to tests/frozen_migrations.json`);
      } else if (frozen[name] !== now) {
        faults.push("was changed or removed, but databases have it: restore it, write a new one");
      }
      return faults.map((message) => ({ path: name, line: 1, message }));
    });
  };
}
