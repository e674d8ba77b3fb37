// What became of requests with API keys, as the API reports it.
import assert from "node:assert/strict";
import type { Rejection } from "../../../domain/meter/outcome.ts";
import type { TestApp, TestPerson } from "../app/app.ts";

/** Reads counts by outcome of all days, once they are written. @param query Such as `&apiKey=key_…`. */
export async function outcomesOf(
  test: TestApp,
  { cookie }: Pick<TestPerson, "cookie">,
  query = "",
): Promise<Record<string, number>> {
  await test.services.requestOutcomes.flush();
  const { data } = await read(test, `/api/portal/outcomes?window=total${query}`, cookie);
  return Object.fromEntries(
    data.map(({ outcome, count }: { outcome: string; count: number }) => [outcome, count]),
  );
}

/** Reads the last rejections, once they are written. */
export async function rejectionsOf(
  test: TestApp,
  { cookie }: Pick<TestPerson, "cookie">,
  query = "",
): Promise<readonly Rejection[]> {
  await test.services.requestOutcomes.flush();
  return (await read(test, `/api/portal/rejections?limit=100${query}`, cookie)).rejections;
}

async function read(test: TestApp, path: string, cookie: string) {
  const response = await test.send(path, { cookie });
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
}
