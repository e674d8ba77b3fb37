// Rules on what stands in files: who may mention what, how long, how commented, and what never.
import { type Finding, isProduction, isTypeScript, lineAt, scan, type SourceFile } from "./source.ts";

const linesMax = 400;

/** Rule: the outside world comes in at one place: arguments and exit in main.ts, the environment in commands/. */
export function outsideWorld(files: readonly SourceFile[]): Finding[] {
  return files.filter((file) => isProduction(file.path)).flatMap((file) => {
    const { code } = scan(file.text);
    return [
      ...(file.path === "main.ts"
        ? []
        : findAll(file, code, /\b(Deno\.(args|exit)|process\.(argv|exit))\b/g, (name) => {
          return `mentions ${name}; only main.ts may`;
        })),
      ...(file.path.startsWith("commands/") ? [] : findAll(file, code, /\b(Deno|process)\.env\b/g, (name) => {
        return `mentions ${name}; only commands/ may, and hands the settings on`;
      })),
    ];
  });
}

/** Rule: all SQL is in db/. Told by string literals that begin as a statement does. */
export function sqlOutsideDb(files: readonly SourceFile[]): Finding[] {
  const statement = /^\s*(SELECT\s|INSERT\s+(INTO|OR)\s|UPDATE\s+[\w"]+\s+SET\s|DELETE\s+FROM\s)/;
  return files.filter((file) => isProduction(file.path) && !file.path.startsWith("db/")).flatMap((file) =>
    scan(file.text).strings.filter(({ text }) => statement.test(text)).map(({ index }) => ({
      path: file.path,
      line: lineAt(file.text, index),
      message: "has SQL; a query is a function in db/, in the module of its noun",
    }))
  );
}

/** These make the guarded writer, or note what was refused. */
const mayMix: readonly string[] = ["services/context.ts", "services/session_writes.ts", "services/audit.ts"];

/** Rule: what acts for a session writes as that session. A service that takes a session has no other way to write. */
export function sessionsWriteGuarded(files: readonly SourceFile[]): Finding[] {
  return files.filter(({ path }) => path.startsWith("services/") && !mayMix.includes(path)).flatMap(
    (file) => {
      const { code } = scan(file.text);
      if (!/\bSessionActor\b/.test(code)) return [];
      return findAll(file, code, /\b(BaseContext|Database)\b/g, (name) => {
        return `takes a session and a ${name}, which writes without asking for it: use SessionContext`;
      });
    },
  );
}

/** Rule: a file is short, and its name says its noun. */
export function filesAreSmall(files: readonly SourceFile[]): Finding[] {
  return files.filter((file) => isTypeScript(file.path)).flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, "").split("\n").length;
    const name = path.slice(path.lastIndexOf("/") + 1);
    return [
      ...(lines > linesMax
        ? [{
          path,
          line: linesMax + 1,
          message: `has ${lines} lines, at most ${linesMax} are allowed: split it by its nouns`,
        }]
        : []),
      ...(/(^|[_.-])utils?[_.-]/i.test(name)
        ? [{ path, line: 1, message: "is called utils, which hides a missing noun" }]
        : []),
    ];
  });
}

/** Rule: a file opens with what it is for. */
export function opensWithComment(files: readonly SourceFile[]): Finding[] {
  const opening: Readonly<Record<string, RegExp>> = {
    ts: /^(\/\/|\/\*)/,
    tsx: /^(\/\/|\/\*)/,
    js: /^(\/\/|\/\*)/,
    css: /^\/\*/,
    sql: /^(--|\/\*)/,
  };
  return files.filter(({ path, text }) =>
    opening[path.slice(path.lastIndexOf(".") + 1)]?.test(text) === false
  ).map((
    { path },
  ) => ({ path, line: 1, message: "does not open with a comment that says what it is for" }));
}

/** Rule: who calls an exported function need not read it. Of overloads, the first one has the docstring. */
export function exportsAreDocumented(files: readonly SourceFile[]): Finding[] {
  const form =
    /^export (?:default )?(?:(?:async )?function\*?\s*(\w*)|const (\w+)[^=\n]*=\s*(?:async\s*)?(?:function\b|\([^()\n]*\)[^=\n]*=>|\w+\s*=>))/gm;
  return files.filter((file) => isProduction(file.path) && file.path.endsWith(".ts")).flatMap((file) => {
    const seen = new Set<string>();
    const { code, comments } = scan(file.text);
    const docstringEnds = comments.filter(({ text }) => /^\/\*\*(?!\/)/.test(text)).map(({ text, index }) => {
      const ignore = /^\n(\/\/ deno-lint-ignore.*\n)*/.exec(file.text.slice(index + text.length));
      return index + text.length + (ignore?.[0].length ?? 0);
    });
    return [...code.matchAll(form)].flatMap((match) => {
      const name = match[1] || match[2] || "default";
      if (seen.has(name)) return [];
      seen.add(name);
      if (docstringEnds.includes(match.index)) return [];
      const message = `exports ${name}() without a docstring (/** … */) directly above`;
      return [{ path: file.path, line: lineAt(file.text, match.index), message }];
    });
  });
}

/** Rule: nothing is left for later, nor of a merge. */
export function nothingLeftForLater(files: readonly SourceFile[]): Finding[] {
  // In parts, so that the rule does not find itself.
  const marks = new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "XX" + "X"].join("|")})\\b`, "g");
  const isCode = ({ path }: SourceFile) => /\.(tsx?|js|css|sql|sh)$|^denow$|^\.ci\//.test(path);
  return files.flatMap((file) => [
    ...(isCode(file)
      ? findAll(file, file.text, marks, (mark) => `says ${mark}: do it, or write an issue`)
      : []),
    // Also within a line: the formatter of texts makes one paragraph of both sides.
    ...findAll(file, file.text, /(<{7}|>{7}) \S/g, () => "has both sides of a merge: choose"),
  ]);
}

/** Rule: tests run all, and wait for what happens, not for a time. */
export function testsNeitherFocusNorSleep(files: readonly SourceFile[]): Finding[] {
  return files.filter(({ path }) => isTypeScript(path) && path.startsWith("tests/")).flatMap((file) => {
    const { code } = scan(file.text);
    const isSupport = file.path.startsWith("tests/support/");
    return [
      ...findAll(file, code, /\.only\(|\bonly: true\b/g, () => "runs one test only"),
      ...(isSupport ? [] : findAll(file, code, /\b(sleep|setTimeout|waitForTimeout)\(/g, (call) => {
        return `calls ${call}…): poll for what is awaited, with a helper of tests/support/`;
      })),
    ];
  });
}

/** Rule: nothing names a machine on which it was made, or the host of a package registry. */
export function namesNoPlace(files: readonly SourceFile[]): Finding[] {
  // In parts, so that the rule does not find itself.
  const folders = new RegExp(
    `(?<![\\w.~-]|(?<!:/)/)/(${"wo" + "rk"}|${"ro" + "ot"}|${"ho" + "me"}/[a-z][\\w-]*|${
      "Us" + "ers"
    }/\\w+)/`,
    "g",
  );
  const hosts = [
    "registry.npm" + "js.org",
    "registry.yarn" + "pkg.com",
    "js" + "r.io",
    "deno.la" + "nd/x",
    "esm." + "sh",
    "cdn.js" + "delivr.net",
    "unp" + "kg.com",
    "py" + "pi.org",
    "python" + "hosted.org",
    "crates" + ".io",
    "proxy.gol" + "ang.org",
    "arti" + "factory",
  ].map((host) => host.replaceAll(".", "\\."));
  const registries = new RegExp(`\\b(${hosts.join("|")})\\b|://(npm|registry)[.-][\\w.-]+`, "gi");
  return files.flatMap((file) => [
    ...findAll(file, file.text, folders, (folder) => `names a folder of one machine: ${folder}`),
    ...findAll(file, file.text, registries, (host) => `names the host of a package registry: ${host}`),
    // With the usual registry the lock file has no addresses at all.
    ...(file.path === "deno.lock"
      ? findAll(
        file,
        file.text,
        /https?:\/\/[^\s"/]+/g,
        (host) => `has an address, ${host}: lock with the default registry`,
      )
      : []),
  ]);
}

function findAll(
  file: SourceFile,
  text: string,
  pattern: RegExp,
  message: (found: string) => string,
): Finding[] {
  return [...text.matchAll(pattern)].map((match) => ({
    path: file.path,
    line: lineAt(text, match.index),
    message: message(match[0]),
  }));
}
