// Holds over the JSON API.
import { createTestKey, type TestApp, type TestPerson } from "../app/app.ts";
import { asOperator } from "../operators/operator_api.ts";
import { grantVoids, newOperatorToken } from "../operators/operators.ts";
import { addLimit } from "./limits.ts";
import type { AddedLimit } from "./limits.ts";
import { recordWith } from "./usage.ts";

/** Records that are held or settled: of tiles/requests. */
export const units = (...quantities: readonly number[]) =>
  quantities.map((quantity) => ({ productSlug: "tiles", metric: "requests", quantity }));

/** An organization with a hard limit, and what it does with holds. */
export async function holdScene(test: TestApp, limit: AddedLimit = { per: "day", quantity: 10 }) {
  const person: TestPerson = await test.signUp();
  const { fullKey: apiKey, id: keyId } = await createTestKey(test, person);
  await test.opened.database.write([grantVoids]);
  const { id: limitId } = await addLimit(test, {}, { mode: "hard", ...limit });
  const { fullToken } = await newOperatorToken(test, [
    "usage:read",
    "usage:write",
    "keys:write",
    "organizations:read",
    "organizations:write",
  ]);
  const post = async (path: string, json: unknown = {}, key = apiKey) => {
    const response = await test.send(`/api/v1/holds${path}`, { apiKey: key, json });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  const get = async (path: string, key = apiKey) => {
    const response = await test.send(path, { apiKey: key });
    return { status: response.status, body: await response.json() };
  };
  return {
    person,
    apiKey,
    keyId,
    limitId,
    post,
    get,
    operator: asOperator(test, fullToken),
    hold: (quantity: number, more: object = {}, key = apiKey) =>
      post("", { records: units(quantity), ...more }, key),
    settle: (id: string, ...quantities: readonly number[]) =>
      post(`/${id}/settle`, { records: units(...quantities) }),
    record: async (quantity: number, more: object = {}) => {
      const response = await recordWith(test, apiKey, { quantity, ...more });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    /** What is used, held and left of each limit. */
    standings: async (): Promise<[used: number, held: number, remaining: number][]> =>
      (await get("/api/v1/limits")).body.limits.map((
        { used, held, remaining }: { used: number; held: number; remaining: number },
      ) => [used, held, remaining]),
    /** Ends what has expired, as the background work does. */
    statusOf: async (id: string): Promise<string> => (await get(`/api/v1/holds/${id}`)).body.hold.status,
  };
}
