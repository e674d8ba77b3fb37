// How tables of usage tell live usage from that of test keys: by the sign of the organization's number. Queries that
// read the usage of an organization by its number read live usage; those that read test usage use a function of this file.
import type { Environment } from "../../domain/environment.ts";
import { integer, joinSql, sql, type Statement } from "../engine/database.ts";

/** The number of the totals of all test usage; that of all live usage is 0. As in the schema's triggers: below every negative number. */
export const testTotalsNumber = -(2 ** 31);

/** The number that usage with the API key `k`, which may be null, has in the organization `o`. */
export const numberOfKeysUsage = sql`iif(k.environment = 'test', -o.number, o.number)`;

/** A condition: usage with this number is live. Everything that is billed, limited or ranked is. */
export const isLive = (number: Statement): Statement => sql`${number} > 0`;

/** Returns the number of the organization that has usage with a number. */
export const organizationOf = (number: Statement): Statement => sql`abs(${number})`;

/** Returns the number of the total that includes usage with a number. */
export const totalOf = (number: Statement): Statement =>
  sql`iif(${number} < 0, ${integer(testTotalsNumber)}, 0)`;

export const environmentOf = (number: Statement): Statement => sql`iif(${number} < 0, 'test', 'live')`;

/** Selects usage of an environment; without one, live usage, or that of the API keys that are named, whichever they are. */
interface EnvironmentFilter {
  readonly environment?: Environment | undefined;
  readonly apiKey?: readonly string[] | undefined;
}

/** Selects usage of both environments. */
export const ofAnyKey = { apiKey: [] } as const satisfies EnvironmentFilter;

const both: readonly Environment[] = ["live", "test"];

function environmentsOf({ environment, apiKey }: EnvironmentFilter): readonly Environment[] {
  if (environment !== undefined) return [environment];
  return apiKey === undefined ? ["live"] : both;
}

/** Returns the numbers of the usage of an organization that a query reads. @param number Of the organization. */
export function usageNumbers(number: Statement, filter: EnvironmentFilter): readonly Statement[] {
  return environmentsOf(filter).map((one) => one === "test" ? sql`-${number}` : number);
}

/** As {@linkcode usageNumbers}; 0 stands for all organizations. */
export function usageNumbersOf(number: number, filter: EnvironmentFilter): readonly number[] {
  return environmentsOf(filter).map((one) =>
    one === "live" ? number : number === 0 ? testTotalsNumber : -number
  );
}

/** A condition: a number is one of the usage of an organization that a query reads. */
export function isUsageOf(column: Statement, number: Statement, filter: EnvironmentFilter): Statement {
  const numbers = usageNumbers(number, filter);
  const [only, more] = numbers;
  return only !== undefined && more === undefined
    ? sql`${column} = ${only}`
    : sql`${column} IN (${joinSql(numbers, ", ")})`;
}

/** A condition: a number is one of the usage of any organization that a query reads. */
export function isUsageOfAny(column: Statement, filter: EnvironmentFilter): Statement {
  const [only, more] = environmentsOf(filter);
  if (more !== undefined) return sql`true`;
  return only === "test" ? sql`${column} < 0` : isLive(column);
}
