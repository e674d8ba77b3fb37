// Organizations with a limit in total, and their grants.
import { createTestKey, type TestApp, type TestPerson } from "../app/app.ts";
import { asOperator } from "../operators/operator_api.ts";
import { grantVoids, newOperatorToken } from "../operators/operators.ts";
import { addLimit } from "./limits.ts";

const dayMs = 24 * 3_600_000;

/** An organization with a limit of all its requests, and what is done with grants. */
export async function grantScene(
  test: TestApp,
  quantity = 0,
  { owner, mode = "hard" }: { owner?: TestPerson; mode?: "hard" | "soft" } = {},
) {
  const person = owner ?? await test.signUp();
  const { fullKey: apiKey } = await createTestKey(test, person);
  await test.opened.database.write([grantVoids]);
  const limit = await addLimit(test, {}, { per: "total", metric: "requests", quantity, mode });
  const { fullToken } = await newOperatorToken(test, [
    "keys:write",
    "organizations:read",
    "organizations:write",
  ]);
  const send = asOperator(test, fullToken);
  const path = `/organizations/${person.organizationId}/grants`;
  let count = 0;
  return {
    person,
    apiKey,
    limit,
    send,
    path,
    grant: async (quantity: number, more: Record<string, unknown> = {}) => {
      const idempotencyKey = `invoice-${++count}`;
      return await send(`POST ${path}`, {
        limitId: limit.id,
        quantity,
        reason: "Paid.",
        idempotencyKey,
        ...more,
      });
    },
    record: async (quantity: number) => {
      const response = await test.send("/api/v1/usage", {
        apiKey,
        json: { productSlug: "tiles", metric: "requests", quantity },
      });
      return { status: response.status, body: await response.json() };
    },
    voidRecord: async (id: string) =>
      (await test.send(`/api/v1/usage/records/${id}/void`, { apiKey, json: { reason: "Wrong." } })).status,
    standing: async () => (await (await test.send("/api/v1/limits", { apiKey })).json()).limits[0],
    grants: async (): Promise<[used: number, remaining: number, status: string][]> =>
      (await send(`GET ${path}`)).body.grants.reverse().map((
        { used, remaining, status }: { used: number; remaining: number; status: string },
      ) => [used, remaining, status]),
    override: (quantity: number | null) =>
      send(`PATCH /organizations/${person.organizationId}`, {
        overrides: { limits: [{ metric: "requests", per: "total", quantity, productSlug: null }] },
      }),
    day: (days: number) => new Date(test.now() + days * dayMs).toISOString(),
  };
}
