// Closes months and adds up lines of statements.
import assert from "node:assert/strict";
import { createTestKey, type TestApp } from "../app/app.ts";
import { asOperator } from "../operators/operator_api.ts";
import { newOperatorToken } from "../operators/operators.ts";
import { run } from "../people/scene.ts";
import { checkOwnSums } from "./own_sums.ts";
import { millionths, recordOne, type SentRecord } from "./usage.ts";

/** A line as returned. */
export interface ReadLine {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly externalId: string | null;
  readonly productSlug: string;
  readonly productName: string | null;
  readonly metric: string;
  readonly metricName: string | null;
  readonly unit: string | null;
  readonly quantity: string;
  readonly records: number;
  readonly adjustmentOf: string | null;
  readonly unitPrice: string | null;
  readonly amount: string | null;
}

/** Sends requests as an operator with a token for statements. */
export async function asBilling(test: TestApp) {
  const { fullToken } = await newOperatorToken(test, ["statements:read", "statements:write"]);
  const send = asOperator(test, fullToken);
  return {
    send,
    /** Closes a month. @returns The statement. */
    async close(period: string): Promise<{ id: string; period: string; start: string; end: string }> {
      const { status, body } = await send("POST /statements", { period });
      assert.equal(status, 201, JSON.stringify(body));
      assert.equal(body.statement.status, "closed");
      await checkOwnSums(test.opened.database);
      return body.statement;
    },
    /** @returns All lines of a statement, from pages of a few. */
    async lines({ id }: { id: string }, limit = 100): Promise<ReadLine[]> {
      const lines: ReadLine[] = [];
      for (let cursor = "";;) {
        const { status, body } = await send(`GET /statements/${id}?limit=${limit}${cursor}`);
        assert.equal(status, 200, JSON.stringify(body));
        lines.push(...body.lines);
        if (body.nextCursor === null) return lines;
        cursor = `&cursor=${body.nextCursor}`;
      }
    },
  };
}

/** @returns A person whose organization has a key that may record and void. */
export async function customer(test: TestApp, name: string) {
  const person = await test.signUp(name);
  const key = await createTestKey(test, person);
  await run(
    test,
    `UPDATE api_keys SET permissions = '["usage:read","usage:void","usage:write"]' WHERE id = ?`,
    key.id,
  );
  const record = (timestamp: string, more: Partial<SentRecord> = {}) =>
    recordOne(test, key.fullKey, { timestamp, ...more });
  return { ...person, apiKey: key.fullKey, record };
}

/** @returns A decimal in millionths. */
export function microsOf(quantity: string): bigint {
  const isNegative = quantity.startsWith("-");
  const micros = millionths(quantity.replace("-", "") as unknown as number);
  return isNegative ? -micros : micros;
}

/** @returns A line in short: what, adjustment of which month, quantity and records. */
export function short({ productSlug, metric, adjustmentOf, quantity, records }: ReadLine): string {
  return [`${productSlug}/${metric}`, adjustmentOf, quantity, records].filter((part) => part !== null).join(
    " ",
  );
}
