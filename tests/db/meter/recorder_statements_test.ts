// The assembled statements of the recorder are in recorder_statements.sql, to be read. After a change of them, write the file again:
// UPDATE_STATEMENTS=1 ./denow test -A --no-check tests/db/meter/recorder_statements_test.ts
import assert from "node:assert/strict";
import type { Statement } from "../../../db/engine/database.ts";
import type { RecordGroup } from "../../../db/meter/record_group.ts";
import { insertUsageRecords } from "../../../db/meter/recorder.ts";
import { encodedRecord, plainGroup } from "../../support/meter/record_groups.ts";

const path = new URL("./recorder_statements.sql", import.meta.url);

const plain: RecordGroup = {
  ...plainGroup,
  targets: ["key"],
  series: [["key", "tiles", "requests"]],
  records: [encodedRecord(0)],
};

/** Each differs from the first one in one way, or two. */
const variants: Readonly<Record<string, RecordGroup>> = {
  "Requests with API keys": plain,
  "With known series": { ...plain, isSeriesKnown: true },
  "With idempotency keys": { ...plain, idempotencyKeys: 1 },
  "With known series and idempotency keys": { ...plain, isSeriesKnown: true, idempotencyKeys: 1 },
  "With limits, of organizations and of lineages of API keys": { ...plain, hasLimits: true },
  "With limits per value": { ...plain, hasLimits: true, hasValueLimits: true },
  "With dimensions": { ...plain, hasDimensions: true },
  "With a catalogue of all products": { ...plain, isCatalogueRequired: true },
  "With API keys that an operator verifies": { ...plain, by: "verifiedKeys" },
  "Recorded by an operator": { ...plain, by: "operator" },
};

/** Returns the statements that a group sends, without sending them. */
async function statementsOf(group: RecordGroup): Promise<readonly Statement[]> {
  let sent: readonly Statement[] = [];
  await insertUsageRecords({
    write: (batch) => {
      sent = batch;
      return Promise.resolve([]);
    },
  }, group);
  return sent;
}

const clause =
  /\b(WITH|SELECT|FROM|WHERE|GROUP BY|ORDER BY|UNION ALL|INSERT|UPDATE|DELETE|ON CONFLICT|SET|LIMIT|AND|(?:CROSS |LEFT )?JOIN)\b/;
const token = /'[^']*'|[()]|[^'()]+/g;
const lineLength = 150;

const tokensOf = (statement: string) => statement.replaceAll(/\s+/g, " ").trim().match(token) ?? [];

/** Returns the text of the subquery that starts with the parenthesis at a position, if one does, and where it ends. */
function subqueryAt(tokens: readonly string[], start: number): { text: string; end: number } | undefined {
  if (tokens[start] !== "(" || !/^\s*(SELECT|WITH)\b/.test(tokens[start + 1] ?? "")) return undefined;
  let end = start;
  for (let depth = 1; depth > 0;) depth += { "(": 1, ")": -1 }[tokens[++end] ?? ""] ?? 0;
  return { text: tokens.slice(start + 1, end).join("").trim(), end };
}

/** Returns long subqueries that occur more than once. */
function findRepeated(statements: Iterable<string>): ReadonlySet<string> {
  const [once, more] = [new Set<string>(), new Set<string>()];
  for (const statement of statements) {
    const tokens = tokensOf(statement);
    for (const position of tokens.keys()) {
      const text = subqueryAt(tokens, position)?.text;
      if (text !== undefined && text.length > lineLength) (once.has(text) ? more : once).add(text);
    }
  }
  return more;
}

/** Breaks lines at clauses, and indents subqueries that don't fit in their line. @param nameOf Names a subquery that is described elsewhere. */
function format(statement: string, nameOf: (subquery: string) => string | undefined): string[] {
  const lines: string[] = [""];
  const isSubquery: boolean[] = [];
  const indent = () => "  ".repeat(isSubquery.filter(Boolean).length);
  const add = (text: string) => lines.push(lines.pop() + text);
  const tokens = tokensOf(statement);
  if (tokens.join("").length < lineLength) return [tokens.join("")];
  for (let position = 0; position < tokens.length; position++) {
    const text = tokens[position] ?? "";
    if (text === "(") {
      const subquery = subqueryAt(tokens, position);
      const isShort = subquery !== undefined && subquery.text.length < lineLength;
      const name = subquery && (nameOf(subquery.text) ?? (isShort ? subquery.text : undefined));
      if (subquery === undefined || name === undefined) isSubquery.push(subquery !== undefined);
      else position = subquery.end;
      add(name === undefined ? "(" : `(${name})`);
    } else if (text === ")") {
      if (isSubquery.pop()) lines.push(indent());
      add(")");
    } else if (text.startsWith("'") || (isSubquery.at(-1) ?? true) === false) {
      add(text);
    } else {
      for (const [part, piece] of text.split(clause).entries()) {
        if (part % 2 === 1 && !/\b(DELETE|DO) $/.test(lines.at(-1) ?? "")) lines.push(indent());
        add(piece);
      }
    }
  }
  return filled(lines.map((line) => line.trimEnd()).filter((line) => line !== ""));
}

/** Joins the clauses of one query while they fit in a line. */
function filled(lines: readonly string[]): string[] {
  const result: string[] = [];
  for (const line of lines) {
    const text = line.trimStart();
    const last = result.at(-1);
    const fits = last !== undefined && last.search(/\S/) === line.length - text.length &&
      last.length + 1 + text.length <= lineLength;
    if (fits) result.push(`${result.pop()} ${text}`);
    else result.push(line);
  }
  return result;
}

/** Returns the lines of `next` that replace others of `base`, with the numbers of those; a longest common subsequence is left out. */
function changesOf(base: readonly string[], next: readonly string[]): string[] {
  const common = [...base, ""].map(() => [...next, ""].map(() => 0));
  const at = (row: number, column: number) => common[row]?.[column] ?? 0;
  for (let row = base.length - 1; row >= 0; row--) {
    for (let column = next.length - 1; column >= 0; column--) {
      (common[row] ?? [])[column] = base[row] === next[column]
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const changes: string[] = [];
  for (let row = 0, column = 0; row < base.length || column < next.length; row++, column++) {
    if (base[row] === next[column]) continue;
    const [firstRow, firstColumn] = [row, column];
    while (base[row] !== next[column]) {
      if (column >= next.length || (row < base.length && at(row + 1, column) >= at(row, column + 1))) row++;
      else column++;
    }
    const place = row === firstRow ? `before ${row + 1}` : [...new Set([firstRow + 1, row])].join(" to ");
    changes.push(...labelled(`/* ${place} */`, next.slice(firstColumn, column)));
  }
  return changes;
}

function labelled(label: string, [first = "", ...rest]: readonly string[]): string[] {
  return [`${label} ${first}`.trimEnd(), ...rest];
}

/** A description by differences is only easier to read if it is this much shorter. */
const mostlySame = 0.9;

/** Describes a statement by how it differs from the most similar one before it, if few lines do. */
function shortest(
  lines: readonly string[],
  before: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const [similar] = [...before].map(([name, base]) => ({ name, lines: changesOf(base, lines) }))
    .sort((a, b) => a.lines.length - b.lines.length);
  return similar !== undefined && similar.lines.length < lines.length * mostlySame
    ? labelled(`${similar.name} with other lines,`, similar.lines)
    : lines;
}

async function describe(): Promise<string> {
  const sections: string[] = [
    "-- The statements of the recorder as they run, in their order: see db/meter/recorder.ts. Each is described once: the variants\n" +
    "-- name those that they share. (q1) is a subquery that occurs more than once. /* 1 to 2 */\n" +
    "-- replaces these lines. ?1 is the records or targets, ?2 the series and ?3 the time.",
  ];
  const batches = new Map<string, readonly string[]>();
  for (const [name, group] of Object.entries(variants)) {
    batches.set(name, (await statementsOf(group)).map(({ sql }) => sql));
  }
  const repeated = findRepeated(new Set([...batches.values()].flat()));
  const names = new Map<string, string>();
  const described = new Map<string, string[]>();
  const count = { "": 0, q: 0 };
  function nameOf(text: string, prefix: keyof typeof count): string {
    const known = names.get(text);
    if (known !== undefined) return known;
    const lines = format(text, (subquery) => repeated.has(subquery) ? nameOf(subquery, "q") : undefined);
    const name = `${prefix}${++count[prefix]}`;
    names.set(text, name);
    sections.push(...labelled(`/* ${name} */`, shortest(lines, described)));
    described.set(name, lines);
    return name;
  }
  for (const [name, batch] of batches) {
    const heading = sections.push("") - 1;
    sections[heading] = `\n-- ${name}: ${batch.map((text) => nameOf(text, "")).join(", ")}`;
  }
  return sections.join("\n") + "\n";
}

Deno.test("the recorder's statements are those of recorder_statements.sql", async () => {
  const statements = await describe();
  if (Deno.env.get("UPDATE_STATEMENTS") === "1") await Deno.writeTextFile(path, statements);
  assert.equal(await Deno.readTextFile(path), statements);
});
