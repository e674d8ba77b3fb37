// The assembled statements of the recorder are in recorder_statements.sql, to be read. After a change of them, write the file again:
// UPDATE_STATEMENTS=1 ./denow test -A --no-check tests/db/meter/recorder_statements_test.ts
import assert from "node:assert/strict";
import type { Statement } from "../../../db/engine/database.ts";
import { RecordEncoder, type RecordGroup } from "../../../db/meter/record_group.ts";
import { insertUsageRecords } from "../../../db/meter/recorder.ts";

const path = new URL("./recorder_statements.sql", import.meta.url);

const record = {
  series: 0,
  request: 0,
  timestamp: null,
  quantity: { whole: 1, micro: 0 },
  idempotencyKey: null,
  properties: null,
};
const plain: RecordGroup = {
  now: 0,
  by: "keys",
  targets: ["key"],
  series: [["key", "tiles", "requests"]],
  records: [new RecordEncoder(0).encode(record)],
  idempotencyKeys: 0,
  isCatalogueRequired: false,
  hasLimits: false,
  hasDimensions: false,
  isSeriesKnown: false,
};

/** Each differs from the first one in one way, or two. */
const variants: Readonly<Record<string, RecordGroup>> = {
  "Requests with API keys": plain,
  "With known series": { ...plain, isSeriesKnown: true },
  "With idempotency keys": { ...plain, idempotencyKeys: 1 },
  "With known series and idempotency keys": { ...plain, isSeriesKnown: true, idempotencyKeys: 1 },
  "With limits, of organizations and of lineages of API keys": { ...plain, hasLimits: true },
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

/** Puts each clause, and what is in the parentheses of a subquery, on lines of its own. */
function format(statement: string): string {
  const lines: string[] = [""];
  const isSubquery: boolean[] = [];
  const indent = () => "  ".repeat(isSubquery.filter(Boolean).length);
  const add = (text: string) => lines.push(lines.pop() + text);
  const tokens = statement.replaceAll(/\s+/g, " ").trim().match(token) ?? [];
  for (const [position, text] of tokens.entries()) {
    if (text === "(") {
      isSubquery.push(/^\s*(SELECT|WITH)\b/.test(tokens[position + 1] ?? ""));
      add("(");
    } else if (text === ")") {
      if (isSubquery.pop()) lines.push(indent());
      add(")");
    } else if (text.startsWith("'") || (isSubquery.at(-1) ?? true) === false) {
      add(text);
    } else {
      for (const [part, piece] of text.split(clause).entries()) {
        const isClause = part % 2 === 1;
        if (isClause && !/\b(DELETE|DO) $/.test(lines.at(-1) ?? "")) lines.push(indent());
        if (piece === "AND") add("  ");
        add(piece);
      }
    }
  }
  return lines.map((line) => line.trimEnd()).filter((line) => line !== "").join("\n");
}

async function describe(): Promise<string> {
  const sections: string[] = [
    "-- The statements of the recorder as they run, in their order: see db/meter/recorder.ts. Those that a variant shares with an\n" +
    "-- earlier one are left out. ?1 is the records or targets, ?2 the series and ?3 the time.",
  ];
  const numbers = new Map<string, number>();
  for (const [name, group] of Object.entries(variants)) {
    const own: string[] = [];
    const order = (await statementsOf(group)).map(({ sql }) => {
      const known = numbers.get(sql);
      if (known !== undefined) return known;
      const number = numbers.size + 1;
      numbers.set(sql, number);
      own.push(`-- ${number}\n${format(sql)};`);
      return number;
    });
    sections.push(`-- ${name}: ${order.join(", ")}`, ...own);
  }
  return sections.join("\n\n") + "\n";
}

Deno.test("the recorder's statements are those of recorder_statements.sql", async () => {
  const statements = await describe();
  if (Deno.env.get("UPDATE_STATEMENTS") === "1") await Deno.writeTextFile(path, statements);
  assert.equal(await Deno.readTextFile(path), statements);
});
