// The rules on code: the tools of each layer, the length of functions, and tests that run all and never sleep.
import { nodeRule, nodesOf, program, type Rules, ts } from "./source.ts";

const sql = /^\s*(SELECT\s|INSERT\s+(INTO|OR)\s|UPDATE\s+[\w"]+\s+SET\s|DELETE\s+FROM\s)/;
const functionLinesMax = 60;
/** Files in services/ that create the guarded writer, or record what was denied. */
const unguarded = ["services/access/session_writes.ts", "services/access/audit.ts"];
/** Files of the server that open files other than the data file, or never close it. */
const openers = [
  "db/engine/backup.ts",
  "db/engine/data_file.ts",
  "db/engine/stream/copier.ts",
  "db/engine/stream/restore_stream.ts",
  "db/engine/stream/spool.ts",
  "db/engine/stream/target.ts",
  "routes/portal/docs/downloads.ts",
  "services/continuous_backup.ts",
  "services/file_descriptors.ts",
];
const isNamed = (node: ts.Node, ...names: string[]) => ts.isIdentifier(node) && names.includes(node.text);

export const codeRules: Rules = {
  "only main.ts uses arguments and exits, only commands/ and packages/ read the environment": nodeRule(
    program,
    (node, { path }) => {
      const name = ts.isPropertyAccessExpression(node) ? node.getText() : "";
      const isProcess = /^(Deno\.(args|exit)|process\.(argv|exit))$/.test(name) && path !== "main.ts";
      const isEnvironment = /^(Deno|process)\.env$/.test(name) && !/^(commands|packages)\//.test(path);
      return isProcess || isEnvironment ? `uses ${name}` : null;
    },
  ),
  "all SQL is in db/": nodeRule(program, (node, { path }) => {
    const text = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) ? node.text : "";
    return sql.test(text) && !path.startsWith("db/") ? "contains SQL: make it a function in db/" : null;
  }),
  "what acts for a session writes as that session": nodeRule(/^services\//, (node, file) => {
    if (!isNamed(node, "Context", "BaseContext", "Database") || unguarded.includes(file.path)) return null;
    // Other verbs in the same file may take a `Context`.
    const scope = isNamed(node, "Context") ? ts.findAncestor(node, ts.isFunctionLike) : node.getSourceFile();
    const takesSession = nodesOf(file).some((other) =>
      isNamed(other, "SessionActor", "Access", "MemberAccess", "UsageAccess") && scope !== undefined &&
      other.pos >= scope.pos &&
      other.end <= scope.end
    );
    return takesSession
      ? `acts for a session, but ${node.getText()} writes without checking it: use SessionContext`
      : null;
  }),
  "messages about input are our own": nodeRule(program, (node, { path }) => {
    const isParse = ts.isCallExpression(node) && /\.safeParse(Async)?$/.test(node.expression.getText());
    return isParse && path !== "routes/schemas/issues.ts" ? "calls safeParse(): use parse()" : null;
  }),
  "jobs of the reports thread only read": nodeRule(/^services\/\w+\/jobs\//, (node) => {
    const called = ts.isCallExpression(node) ? /\w+$/.exec(node.expression.getText())?.[0] ?? "" : "";
    return /^(write(As|Change|AndRead)?|(insert|update|delete)[A-Z]\w*)$/.test(called)
      ? `calls ${called}()`
      : null;
  }),
  "routes read reports through services": nodeRule(/^routes\//, (node) => {
    const called = ts.isCallExpression(node) ? node.expression.getText() : "";
    return /\breports\.(read|bytes)$/.test(called) ? `calls ${called}(): make it a verb in services/` : null;
  }),
  // Closing any descriptor of the data file drops all locks that SQLite has on it in this process.
  "the server opens files only where they can't be the data file": nodeRule(
    /^(db|routes|services)\//,
    (node, { path }) => {
      const called = ts.isCallExpression(node) ? /\w+$/.exec(node.expression.getText())?.[0] ?? "" : "";
      return /^(open|create|copyFile|truncate|(read|write)(Text)?File)(Sync)?$/.test(called) &&
          node.getText().startsWith("Deno.") && !openers.includes(path)
        ? `calls Deno.${called}()`
        : null;
    },
  ),
  // Nested functions count on their own. Statements that mount something on `app`, or a `route` of it, form a list.
  "no function of the program is longer than 60 lines": nodeRule(program, (node) => {
    const body = bodyOf(node);
    const lines = body === undefined ? 0 : linesOf(body) - 2 - linesNotCounted(body);
    const named = ts.isFunctionExpression(node) || ts.isArrowFunction(node) ? node.parent : node;
    const name = ts.getNameOfDeclaration(named as ts.Declaration)?.getText() ?? "a function";
    return lines > functionLinesMax ? `${name} has ${lines} lines: split it by meaning` : null;
  }),
  "tests run all and never sleep": nodeRule(/^tests\/.*\.tsx?$/, (node, { path }) => {
    const called = ts.isCallExpression(node) ? /\w+$/.exec(node.expression.getText())?.[0] ?? "" : "";
    const isFocused = called === "only" || (ts.isPropertyAssignment(node) && node.getText() === "only: true");
    const isWait = /^(sleep|setTimeout|waitForTimeout)$/.test(called) && !path.startsWith("tests/support/");
    if (isFocused) return "runs one test only";
    return isWait ? `calls ${called}(): poll with tests/support/runner/poll.ts instead` : null;
  }),
};

const bodyOf = (node: ts.Node) => ts.isFunctionLike(node) && "body" in node ? node.body : undefined;
const linesOf = (node: ts.Node) => node.getText().split("\n").length;

function linesNotCounted(node: ts.Node): number {
  let lines = 0;
  ts.forEachChild(node, (child) => {
    const body = bodyOf(child);
    if (body !== undefined) lines += Math.max(0, linesOf(body) - 2);
    else lines += isMount(child) ? linesOf(child) : linesNotCounted(child);
  });
  return lines;
}

function isMount(node: ts.Node): boolean {
  if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return false;
  const { expression: callee, arguments: [first] } = node.expression;
  const mounter = ts.isPropertyAccessExpression(callee) ? callee.expression : callee;
  return isNamed(mounter, "app", "route") || (first !== undefined && isNamed(first, "app"));
}
