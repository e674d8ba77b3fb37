// Which tables a statement reads from one end to the other, as SQLite's program for it says.
import { type Database, type MainDatabase, sql, type Statement } from "../../../db/engine/database.ts";
import { embeddedTestDatabase, type TestDatabase } from "./database.ts";

/** Notes the statements that a database gets while it is switched on. */
export class StatementNotes {
  readonly noted = new Map<string, Statement>();
  /** Their texts in order. */
  readonly asked: string[] = [];
  isOn = false;

  async open(): Promise<TestDatabase<MainDatabase>> {
    const opened = await embeddedTestDatabase();
    const { database } = opened;
    const note = (statement: Statement) => {
      if (!this.isOn) return;
      this.noted.set(statement.sql, statement);
      this.asked.push(statement.sql);
    };
    return {
      ...opened,
      database: {
        source: database.source,
        share: () => database.share(),
        close: () => database.close(),
        read: (statement) => (note(statement), database.read(statement)),
        readFirst: (statement) => (note(statement), database.readFirst(statement)),
        write: (batch, options) => (batch.forEach(note), database.write(batch, options)),
      },
    };
  }

  /** Notes what `use` does. */
  async during<T>(use: () => Promise<T>): Promise<T> {
    this.isOn = true;
    try {
      return await use();
    } finally {
      this.isOn = false;
    }
  }
}

interface Instruction {
  readonly addr: number;
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
}

/**
 * Returns a function that finds what a statement and its triggers read from one end, without a key: tables, and indexes as `table by index`.
 * Those of partial indexes have only the rows of their condition, and are left out. With `in a range`, it ends at a key.
 */
export async function scanFinder(
  database: Database,
): Promise<(statement: Statement) => Promise<Set<string>>> {
  const trees = await database.read<{ root: number; name: string; table: string; isPartial: 0 | 1 }>(sql`
    SELECT rootpage AS root, name, tbl_name AS "table", type = 'index' AND coalesce(sql LIKE '% WHERE %', 0) AS isPartial
    FROM sqlite_schema WHERE rootpage > 0`);
  const nameOf = new Map(
    trees.filter(({ isPartial }) => isPartial === 0)
      .map(({ root, name, table }) => [root, name === table ? table : `${table} by ${name}`]),
  );
  return async ({ sql: text, args }) => {
    const all = await database.read<Instruction>({ sql: `EXPLAIN ${text}`, args });
    const found = new Set<string>();
    // Each trigger has a program of its own, after the statement's.
    const starts = all.flatMap(({ addr }, index) => addr === 0 ? [index] : []);
    for (const [number, start] of starts.entries()) {
      for (const name of scansOf(all.slice(start, starts[number + 1]), nameOf)) found.add(name);
    }
    return found;
  };
}

function scansOf(program: readonly Instruction[], nameOf: ReadonlyMap<number, string>): string[] {
  const open = new Map<number, string | undefined>();
  return program.flatMap(({ opcode, p1, p2 }) => {
    if (/^(Open|Sorter|Reopen)/.test(opcode)) {
      open.set(p1, /^(Open|Reopen)(Read|Write|Idx)$/.test(opcode) ? nameOf.get(p2) : undefined);
    }
    const name = /^(Rewind|Last)$/.test(opcode) ? open.get(p1) : undefined;
    const has = (opcodes: RegExp) => program.some((one) => one.p1 === p1 && opcodes.test(one.opcode));
    if (name === undefined || !has(/^(Next|Prev)$/)) return [];
    return [has(/^Idx(GT|GE|LT|LE)$/) ? `${name} in a range` : name];
  });
}
